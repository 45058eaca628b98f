import type { Message } from "@bufbuild/protobuf"
import { createContextKey } from "@connectrpc/connect"

/**
 * Writes messages of a stream to its reader at once, between two messages that the handler yields. Heartbeats and hints go
 * this way, because the iterators of a waiting stream cost more than the message.
 */
export interface DirectWrite {
  /** False before the stream's first message and after its last one, and always if the transport has no such path. */
  readonly isOpen: boolean
  /** @returns False if nothing was written: the path is not open, or the reader is slow. Then the handler yields the message. */
  write(message: Message): boolean
}

export const kDirectWrite = createContextKey<DirectWrite>(
  { isOpen: false, write: () => false },
  { description: "direct write" },
)
