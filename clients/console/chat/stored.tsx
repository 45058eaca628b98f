import { createClient } from "@connectrpc/connect"
import type { ConversationInfo, Messenger } from "@signet/client-web/messaging"
import { listStoredBackups, type StoredBackup } from "@signet/client-web/messaging/backup"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import {
  type Conversation,
  Conversation_Status,
  type Envelope,
  Envelope_Kind,
} from "@signet/proto/messaging/v1/records"
import { enumName, Failed, Time, useSignet } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { hex } from "../chain.ts"
import { Facts } from "../page.tsx"
import { t } from "../text/chat.ts"
import type { Backend } from "./backends.ts"

interface StoredProps {
  readonly messenger: Messenger
  readonly conversation: ConversationInfo
  readonly audience: string
  readonly backend: Backend
  readonly version: number
}

/** The end of a row: its beginning is the frame, which is the same in every message of an epoch. */
const shownBytes = 48
/** The newest rows that are read. */
const shownRows = 200n

interface Read {
  readonly record: Conversation | undefined
  readonly rows: readonly Envelope[]
  readonly backups: readonly StoredBackup[]
}

/** The rows of a conversation as the server returns them to a member: this is all that it has of the messages. */
export function Stored({ messenger, conversation, audience, backend, version }: StoredProps): ReactNode {
  const { session } = useSignet()
  const { id: conversationId } = conversation
  const [read, setRead] = useState<Read>({ record: undefined, rows: [], backups: [] })
  const [failure, setFailure] = useState<unknown>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message is a new row.
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    const service = createClient(ConversationService, session.transport({ audience, baseUrl: backend.url }))
    const load = async (): Promise<Read> => {
      const { conversation: record } = await service.getConversation({ conversationId }, { signal })
      const head = record?.headSeq ?? 0n
      const afterSeq = head > shownRows ? head - shownRows : 0n
      // `readAhead`: looking at the rows is no sign that the device is present.
      const request = { conversationId, afterSeq, limit: Number(shownRows), readAhead: true }
      const { envelopes } = await service.listMessages(request, { signal })
      return { record, rows: envelopes.toReversed(), backups: await listStoredBackups(messenger) }
    }
    load().then(
      (found) => {
        if (signal.aborted) return
        setRead(found)
        setFailure(undefined)
      },
      (error: unknown) => !signal.aborted && setFailure(error),
    )
    return () => ending.abort()
  }, [session, messenger, conversationId, audience, backend, version])
  const { record, rows, backups } = read
  const total = rows.reduce((sum, { message }) => sum + message.length, 0)
  return (
    <>
      <p className="signet-muted">{t.stored.about}</p>
      <p className="signet-id">{backend.name}</p>
      <Failed error={failure} />
      {record && <Record of={record} />}
      <h2>{t.stored.log}</h2>
      <p className="signet-muted">{t.stored.sum(rows.length, t.chat.bytes(total))}</p>
      <ol className="stored">
        {rows.map((row) => (
          <Row key={String(row.seq)} {...row} />
        ))}
      </ol>
      <h2>{t.stored.archives}</h2>
      {backups.length === 0 && <p className="signet-muted">{t.stored.none}</p>}
      <ul className="stored">
        {backups.map(({ id, size }) => (
          <li key={id}>
            <code className="id">{id}</code> · {t.chat.bytes(size)}
          </li>
        ))}
      </ul>
    </>
  )
}

/** The row of the conversation, and one for each device in it. */
function Record({ of }: { of: Conversation }): ReactNode {
  return (
    <>
      <h2>{t.stored.record}</h2>
      <Facts
        of={[
          [
            "id",
            <code className="id" key="id">
              {of.id}
            </code>,
          ],
          [t.stored.status, enumName(Conversation_Status, of.status).toLowerCase()],
          [t.stored.head, `#${of.headSeq}`],
          ["", t.stored.epoch(String(of.epoch))],
        ]}
      />
      <h2>{t.stored.devices}</h2>
      <ul className="stored">
        {of.members.map(({ leafIndex, deviceId, userId, credentialHash }) => (
          <li key={leafIndex}>
            <p className="signet-id">{deviceId}</p>
            <p className="signet-id">{userId}</p>
            <code className="cipher">
              {t.stored.credential} {hex(credentialHash)}
            </code>
          </li>
        ))}
      </ul>
    </>
  )
}

function Row({ seq, epoch, kind, message, senderDeviceId, acceptedAt }: Envelope): ReactNode {
  return (
    <li>
      <p>
        <span className="strong">{`#${seq}`}</span> {enumName(Envelope_Kind, kind).toLowerCase()} ·{" "}
        {t.stored.epoch(String(epoch))} · {t.chat.bytes(message.length)}
      </p>
      <p className="signet-id">
        {senderDeviceId} · <Time at={acceptedAt} />
      </p>
      <code className="cipher">
        {message.length > shownBytes ? "…" : ""}
        {hex(message.subarray(-shownBytes))}
      </code>
    </li>
  )
}
