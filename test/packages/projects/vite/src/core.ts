// Opens a messenger in a Worker, for a service that is not there: the core itself says so.
import { createMessenger } from "@signet/client-web/messaging"

export async function reasonOfCore(): Promise<string> {
  const messaging = { baseUrl: "http://127.0.0.1:9", issuerRootKeys: [new Uint8Array(32)] }
  const session = {
    ...{ appId: "app_01kdvdna00edmtevk5ehj6axhg", tenantId: undefined, userId: "prn_01kdvdna00edmtevk5ehj6axhg" },
    ...{ accessToken: async () => `e30.${btoa('{"iss":"http://127.0.0.1:9"}')}.e30`, renewToken: async () => "" },
  }
  try {
    return (await createMessenger({ messaging, session })).deviceId
  } catch (error) {
    return `${Object(error).name} ${Object(error).reason}`
  }
}
