import { randomBytes } from "node:crypto"
import type { Transport } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { suite, verify } from "../../../test/support/messaging/papers.ts"
import { idOf } from "./ids.ts"
import type { MessengerOptions } from "./messenger.ts"
import { openContext } from "./open.ts"
import { openMemoryStore } from "./store/memory.ts"
import { testBox } from "./testing/test-box.ts"

const noTransport = {
  unary: () => Promise.reject(new Error("nothing is sent")),
  stream: () => Promise.reject(new Error("nothing is sent")),
} satisfies Transport

function optionsWith(change: Partial<MessengerOptions>): MessengerOptions {
  const nobody = async () => expect.fail("nobody is asked for a token")
  return {
    messaging: { baseUrl: "https://messages.example", issuerRootKeys: [] },
    session: {
      appId: idOf("app", new Uint8Array(16)),
      tenantId: undefined,
      userId: idOf("prn", new Uint8Array(16)),
      accessToken: nobody,
      renewToken: nobody,
    },
    transport: noTransport,
    store: openMemoryStore(),
    secretBox: testBox(),
    clock: { nowMs: () => 0, after: () => () => undefined },
    random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
    platform: "test",
    ...change,
  }
}

test.each([
  "http://messages.example",
  "https://messages.example/",
  "https://ann:password@messages.example",
  "https://messages.example?tenant=1",
  "ftp://messages.example",
  "messages.example",
])("no token goes to %s", async (baseUrl) => {
  const options = optionsWith({ messaging: { baseUrl, issuerRootKeys: [] } })
  await expect(openContext(options, { suite, verify })).rejects.toMatchObject({ reason: "CONFIGURATION_INVALID" })
})
