import { expect, test } from "vitest"
import * as surface from "./index.ts"

test("the messaging client exports these names, and nothing of MLS, keys or secrets", () => {
  expect(Object.keys(surface).sort()).toEqual([
    "MessagingError",
    "createMessenger",
    "isMessagingError",
    "messagingReasons",
    "messagingSession",
    "openMemoryStore",
  ])
})
