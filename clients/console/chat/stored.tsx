import { createClient } from "@connectrpc/connect"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { enumName, Failed, Time, useSignet } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { hex } from "../chain.ts"
import { t } from "../text/chat.ts"

interface StoredProps {
  readonly conversationId: string
  readonly audience: string
  readonly version: number
}

/** The end of a row: its beginning is the frame, which is the same in every message of an epoch. */
const shownBytes = 48

/** The rows of the log as the server returns them to a member: this is all that it has of the messages. */
export function Stored({ conversationId, audience, version }: StoredProps): ReactNode {
  const { session } = useSignet()
  const [rows, setRows] = useState<readonly Envelope[]>([])
  const [failure, setFailure] = useState<unknown>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message is a new row.
  useEffect(() => {
    const ending = new AbortController()
    const service = createClient(ConversationService, session.transport({ audience }))
    // `readAhead`: looking at the rows is no sign that the device is present.
    service.listMessages({ conversationId, limit: 200, readAhead: true }, { signal: ending.signal }).then(
      ({ envelopes }) => {
        setRows(envelopes.toReversed())
        setFailure(undefined)
      },
      (error: unknown) => !ending.signal.aborted && setFailure(error),
    )
    return () => ending.abort()
  }, [session, conversationId, audience, version])
  return (
    <>
      <p className="signet-muted">{t.chat.storedAbout}</p>
      <Failed error={failure} />
      <ol className="stored">
        {rows.map(({ seq, epoch, kind, message, senderDeviceId, acceptedAt }) => (
          <li key={String(seq)}>
            <p>
              <span className="strong">{`#${seq}`}</span> {enumName(Envelope_Kind, kind).toLowerCase()} ·{" "}
              {t.chat.epoch(String(epoch))} · {t.chat.bytes(message.length)}
            </p>
            <p className="signet-id">
              {senderDeviceId} · <Time at={acceptedAt} />
            </p>
            <code className="cipher">
              {message.length > shownBytes ? "…" : ""}
              {hex(message.subarray(-shownBytes))}
            </code>
          </li>
        ))}
      </ol>
    </>
  )
}
