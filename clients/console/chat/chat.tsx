import type { ConversationInfo, Messenger } from "@signet/client-web/messaging"
import { Dialog, Failed, useAction, useSession } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { Field, words } from "../page.tsx"
import { t } from "../text/chat.ts"
import { Conversation } from "./conversation.tsx"
import { short } from "./short.ts"
import { useMessenger } from "./use-messenger.ts"

interface ChatProps {
  readonly messenger: Messenger
  readonly audience: string
}

/** The conversations of this device, and the one that is open. */
export function Chat({ messenger, audience }: ChatProps): ReactNode {
  const state = useSession()
  const own = state.is === "signedIn" ? state.user.principalId : ""
  const { conversations, version, warnings } = useMessenger(messenger)
  const [openId, setOpenId] = useState<string>()
  const [isStarting, setStarting] = useState(false)
  const open = conversations.find(({ id }) => id === openId) ?? conversations[0]
  const begin = useAction(async (peer: string) => setOpenId((await messenger.createDirectConversation(peer)).id))
  const [peer] = useState(() => new URLSearchParams(location.search).get("with"))
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the address that the page was opened with.
  useEffect(() => {
    if (peer !== null && peer !== own) void begin.run(peer)
  }, [peer])
  return (
    <div className="chat">
      <nav className="chat-list" aria-label={t.chat.conversations}>
        <button type="button" className="signet-button signet-primary" onClick={() => setStarting(true)}>
          {t.chat.begin}
        </button>
        <Failed error={begin.error} />
        <ul>
          {conversations.map((one) => (
            <li key={one.id}>
              <button type="button" aria-current={one.id === open?.id} onClick={() => setOpenId(one.id)}>
                <span className="strong">{nameOf(one, own)}</span>
                <span className="signet-id">
                  {one.isDirect ? t.chat.direct : t.chat.group(one.memberUserIds.length)} · {one.status}
                </span>
              </button>
            </li>
          ))}
        </ul>
        <OwnId own={own} />
      </nav>
      {open === undefined ? (
        <p className="empty chat-empty">{t.chat.none}</p>
      ) : (
        <Conversation
          key={open.id}
          {...{ messenger, own, version, warnings, audience }}
          info={open}
          name={nameOf(open, own)}
        />
      )}
      {isStarting && <Begin messenger={messenger} onBegun={setOpenId} onClose={() => setStarting(false)} />}
    </div>
  )
}

const nameOf = ({ isDirect, memberUserIds }: ConversationInfo, own: string): string => {
  const others = memberUserIds.filter((id) => id !== own)
  if (isDirect || others.length === 1) return short(others[0] ?? t.chat.waiting)
  return others.map(short).join(", ") || t.chat.onlyYou
}

function OwnId({ own }: { own: string }): ReactNode {
  const [isCopied, setCopied] = useState(false)
  const link = `${location.origin}${location.pathname}?with=${own}`
  return (
    <div className="chat-own">
      <p className="signet-muted">{t.chat.yourId}</p>
      <output className="id" aria-label={t.chat.yourId}>
        {own}
      </output>
      <button
        type="button"
        className="signet-button"
        onClick={() => void navigator.clipboard.writeText(link).then(() => setCopied(true))}
      >
        {isCopied ? t.chat.linkCopied : t.chat.copyLink}
      </button>
    </div>
  )
}

interface BeginProps {
  readonly messenger: Messenger
  readonly onBegun: (id: string) => void
  readonly onClose: () => void
}

/** One id begins the direct conversation, several a group. */
function Begin({ messenger, onBegun, onClose }: BeginProps): ReactNode {
  const [people, setPeople] = useState("")
  const begin = useAction(async () => {
    const ids = words(people)
    const [first] = ids
    const isDirect = ids.length === 1 && first !== undefined
    const { id } = await (isDirect ? messenger.createDirectConversation(first) : messenger.createGroupConversation(ids))
    onBegun(id)
    onClose()
  })
  return (
    <Dialog title={t.chat.begin} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          begin.run()
        }}
      >
        <Field
          label={t.chat.people}
          hint={t.chat.peopleHint}
          rows={3}
          value={people}
          onChange={setPeople}
          isRequired
          placeholder="prn_…"
        />
        <Failed error={begin.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={begin.isPending}>
            {t.chat.begin}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
