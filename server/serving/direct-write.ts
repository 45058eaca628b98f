import type { Message } from "@bufbuild/protobuf"
import { createContextKey } from "@connectrpc/connect"

/**
 * Writes a message of a stream to its reader at once, between two messages that the handler yields. A heartbeat goes
 * this way, because an idle stream's iterators cost more than the message.
 *
 * @returns False if nothing was written: the stream has no first message yet, has ended, its reader is slow, or the
 * transport has no such path. Then the handler yields the message.
 */
export type DirectWrite = (message: Message) => boolean

export const kDirectWrite = createContextKey<DirectWrite>(() => false, { description: "direct write" })
