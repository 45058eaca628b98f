import "../../testing/global-host.ts"
import { create } from "@bufbuild/protobuf"
import { OpenRequestSchema } from "@signet/proto/client/v1/messenger_service"
import { expect, test } from "vitest"
import { MessagingError } from "../../../core/messaging/errors.ts"
import type { MessagingSession } from "../../../core/messaging/session.ts"
import { createHolder } from "./messenger-holder.ts"

const session: MessagingSession = {
  ...{ appId: "app_01kdvdna00edmtevk5ehj6axhg", tenantId: undefined, userId: "prn_01kdvdna00edmtevk5ehj6axhg" },
  accessToken: () => new Promise(() => undefined),
  renewToken: () => new Promise(() => undefined),
}
const request = create(OpenRequestSchema, { baseUrl: "https://m.test", issuerRootKeys: [new Uint8Array(32).fill(9)] })

test("Open of an open messenger is refused, and after a sign-out with NOT_SIGNED_IN", async () => {
  let isSignedIn = true
  const holder = createHolder({
    async sessionFor() {
      if (!isSignedIn) throw new MessagingError("NOT_SIGNED_IN", "nobody is signed in")
      return session
    },
    box: { describe: () => ({}), hold: () => ({}) } as never,
    ...{ store: { isPersistent: false, isShared: false }, platform: "test" },
    engineOnce: async () => expect.fail("the engine is not needed"),
  })
  // The host never answers: the messenger stays in this state.
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  void holder.open(request).then(end, end)
  await new Promise(setImmediate)
  await expect(holder.open(request)).rejects.toMatchObject({ reason: "INVALID_ARGUMENT" })
  isSignedIn = false
  await expect(holder.open(request)).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
  expect(hasEnded).toBe(false)
})
