"use client"
import { configure } from "@signet/client-web"
import { useEffect, useState } from "react"

// Opens a messenger in a Worker, for a service that is not there: the core itself says so.
async function reasonOfCore(): Promise<string> {
  const { createMessenger } = await import("@signet/client-web/messaging")
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

export default function Page() {
  const [is, setIs] = useState("loading")
  useEffect(() => {
    const signet = configure({
      appId: "app_01kdvdna00edmtevk5ehj6axhg",
      authBaseUrl: "http://127.0.0.1:8080",
      providers: ["IDP_A"],
    })
    if (location.search === "?core") void reasonOfCore().then(setIs)
    const unsubscribe = signet.session.subscribe((state) => setIs(state.is))
    return () => {
      unsubscribe()
      signet.close()
    }
  }, [])
  return <main>notes: {is}</main>
}
