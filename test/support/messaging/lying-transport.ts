// A service that says what it likes of the log: the rest of its answers are the real server's.
import { create, type Message } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import type { ListConversationsResponse, ListMessagesResponse } from "@signet/proto/messaging/v1/conversation_service"
import type { Envelope } from "@signet/proto/messaging/v1/records"

export interface LyingTransport extends Transport {
  /** What ListMessages answers of one conversation from now on; undefined for the truth. */
  lie: { readonly of: string; readonly log: readonly Envelope[] } | undefined
  /** Changes the answer of one method; undefined for the truth. */
  bend: { readonly method: string; readonly answer: (truth: Message) => unknown } | undefined
  /** Answers a method in the server's place; undefined for the server. */
  invent: ((method: string) => object | undefined) | undefined
  /** Reports that it was sent, as the messenger made them. */
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
        // The fields of the answer are the test's, which knows the method by its name alone.
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
        // Else nobody would ask.
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
