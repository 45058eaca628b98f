// A transport whose server lies about the log. Other responses are the real server's.
import { create, type Message } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import type { ListConversationsResponse, ListMessagesResponse } from "@signet/proto/messaging/v1/conversation_service"
import type { Envelope } from "@signet/proto/messaging/v1/records"

export interface LyingTransport extends Transport {
  /** Replaces ListMessages' response for one conversation; undefined for the real one. */
  lie: { readonly of: string; readonly log: readonly Envelope[] } | undefined
  /** Changes the responses of one method; undefined for none. */
  bend: { readonly method: string; readonly answer: (truth: Message) => unknown } | undefined
  /** Answers a method instead of the server; undefined for the server. */
  invent: ((method: string) => object | undefined) | undefined
  /** Fork reports as the messenger sent them. */
  readonly reports: unknown[]
}

export function lyingTransport(transport: Transport): LyingTransport {
  const lying: LyingTransport = {
    lie: undefined,
    bend: undefined,
    invent: undefined,
    reports: [],
    async unary(method, signal, timeoutMs, header, input, values) {
      if (method.name === "ReportFork") lying.reports.push(input)
      const invented = lying.invent?.(method.name)
      if (invented !== undefined) {
        // The test defines the fields, because it knows the method only by name.
        const message = Object.assign(create(method.output), invented)
        return {
          ...{ stream: false, service: method.parent, method, message },
          ...{ header: new Headers(), trailer: new Headers() },
        }
      }
      const answer = await transport.unary(method, signal, timeoutMs, header, input, values)
      const { lie, bend } = lying
      if (bend?.method === method.name) await bend.answer(answer.message)
      if (lie === undefined) return answer
      if (isOverview(answer.message)) {
        // Otherwise the messenger would not read the log.
        for (const one of answer.message.conversations) if (one.id === lie.of) one.headSeq += 1n
      }
      const isAsked = "conversationId" in input && input.conversationId === lie.of
      if (!isAsked || !isList(answer.message)) return answer
      const envelopes = [...lie.log]
      const headSeq = envelopes.at(-1)?.seq ?? answer.message.headSeq
      return { ...answer, message: Object.assign({}, answer.message, { envelopes, headSeq }) }
    },
    stream: (...call) => transport.stream(...call),
  }
  return lying
}

const isList = (message: object): message is ListMessagesResponse =>
  "$typeName" in message && message.$typeName === "signet.messaging.v1.ListMessagesResponse"

const isOverview = (message: object): message is ListConversationsResponse =>
  "$typeName" in message && message.$typeName === "signet.messaging.v1.ListConversationsResponse"
