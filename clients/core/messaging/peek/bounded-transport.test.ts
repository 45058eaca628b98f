import { create, toBinary } from "@bufbuild/protobuf"
import { Code, createClient } from "@connectrpc/connect"
import {
  ConversationService,
  ListConversationsResponseSchema,
  ListMessagesResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { boundedTransport, countFields } from "./bounded-transport.ts"

const limits = { envelopePageBytes: 4_096, answerBytes: 1_024, answerFields: 100 }

/** A service whose answer has this body; `pulled` counts the chunks that are read. */
function answering(body: Uint8Array | "endless", init: ResponseInit = {}) {
  const seen: { url: string; init: RequestInit | undefined; pulled: number } = { url: "", init: undefined, pulled: 0 }
  const transport = boundedTransport(
    "https://messages.example/",
    async (url, given) => {
      seen.url = String(url)
      seen.init = given
      const stream = new ReadableStream(
        {
          pull(controller) {
            seen.pulled += 1
            controller.enqueue(body === "endless" ? new Uint8Array(512) : body.slice())
            if (body !== "endless") controller.close()
          },
        },
        { highWaterMark: 0 },
      )
      return new Response(stream, init)
    },
    limits,
  )
  return { seen, calls: createClient(ConversationService, transport) }
}

const conversationId = "cnv_00000000000000000000000000"

test("an answer is decoded, and the call carries no cookies and follows no redirect", async () => {
  const answer = create(ListMessagesResponseSchema, { headSeq: 7n, envelopes: [{ message: Uint8Array.of(1) }] })
  const { seen, calls } = answering(toBinary(ListMessagesResponseSchema, answer))
  expect(await calls.listMessages({ conversationId, readAhead: true })).toEqual(answer)
  expect(seen.url).toBe("https://messages.example/signet.messaging.v1.ConversationService/ListMessages")
  expect(seen.init).toMatchObject({ method: "POST", credentials: "omit", redirect: "error" })
})

test("an endless answer is aborted at its limit", async () => {
  const first = answering("endless")
  await expect(first.calls.listConversations({})).rejects.toMatchObject({ code: Code.ResourceExhausted })
  expect(first.seen.pulled).toBe(3)
  const second = answering("endless")
  await expect(second.calls.listMessages({ conversationId })).rejects.toMatchObject({ code: Code.ResourceExhausted })
  expect(second.seen.pulled).toBe(9)
})

test("an answer of many empty messages is not decoded", async () => {
  const empty = new Uint8Array(1_024).map((_, at) => (at % 2 === 0 ? 0x0a : 0))
  const { calls } = answering(empty)
  await expect(calls.listConversations({})).rejects.toMatchObject({ code: Code.ResourceExhausted })
})

test("fields of nested messages and unknown fields are counted, up to the limit", () => {
  const answer = create(ListConversationsResponseSchema, {
    conversations: [{ id: "a", cursor: { processedSeq: 1n } }, { userIds: ["b", "c"] }],
    nextPageToken: "d",
  })
  const bytes = toBinary(ListConversationsResponseSchema, answer)
  expect(countFields(ListConversationsResponseSchema, bytes, 100)).toBe(8)
  expect(countFields(ListConversationsResponseSchema, Uint8Array.of(...bytes, 0xf8, 0x7f, 0), 100)).toBe(9)
  expect(countFields(ListConversationsResponseSchema, bytes, 3)).toBe(4)
  const text = toBinary(
    ListConversationsResponseSchema,
    create(ListConversationsResponseSchema, { nextPageToken: "a".repeat(8_193) }),
  )
  expect(countFields(ListConversationsResponseSchema, text, 100)).toBe(101)
  expect(() => countFields(ListConversationsResponseSchema, bytes.subarray(0, -1), 100)).toThrow()
})

test("the text of a refusal is not read", async () => {
  const { seen, calls } = answering("endless", { status: 500 })
  await expect(calls.listConversations({})).rejects.toMatchObject({ code: Code.Unknown })
  expect(seen.pulled).toBe(0)
})
