import type { ConversationInfo, Messenger } from "@signet/client-web/messaging"
import { useAction, useSession } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../text/chat.ts"
import type { Backend } from "./backends.ts"
import { Begin } from "./begin.tsx"
import { Conversation } from "./conversation.tsx"
import { Own } from "./own/own.tsx"
import { type Transfers, useHistory } from "./own/use-history.ts"
import { Problem } from "./problem.tsx"
import { short } from "./short.ts"
import { useMessenger, useOnline } from "./use-messenger.ts"

interface ChatProps {
  readonly messenger: Messenger
  readonly audience: string
  readonly backend: Backend
}

/** The view that is open beside the list. On a narrow screen only one of both is shown. */
type View = { readonly is: "list" } | { readonly is: "own" } | { readonly is: "conversation"; readonly id: string }

/** The conversations of this device, and the one that is open. */
export function Chat({ messenger, audience, backend }: ChatProps): ReactNode {
  const state = useSession()
  const own = state.is === "signedIn" ? state.user.principalId : ""
  const observed = useMessenger(messenger)
  const { conversations } = observed
  const isOnline = useOnline(messenger)
  const transfers = useHistory(messenger)
  const [view, setView] = useState<View>({ is: "list" })
  const [isStarting, setStarting] = useState(false)
  const openOf = (id: string) => setView({ is: "conversation", id })
  const chosen = view.is === "conversation" ? conversations.find(({ id }) => id === view.id) : undefined
  const open = view.is === "own" ? undefined : (chosen ?? conversations[0])
  const begin = useAction(async (peer: string) => openOf((await messenger.createDirectConversation(peer)).id))
  const [peer] = useState(() => new URLSearchParams(location.search).get("with"))
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the address that the page was opened with.
  useEffect(() => {
    if (peer !== null && peer !== own) void begin.run(peer)
  }, [peer])
  const back = () => setView({ is: "list" })
  return (
    <div className="chat" data-view={view.is}>
      <nav className="chat-list" aria-label={t.chat.conversations}>
        <button type="button" className="signet-button signet-primary" onClick={() => setStarting(true)}>
          {t.chat.begin}
        </button>
        <Problem error={begin.error} />
        <ul>
          {conversations.map((one) => (
            <li key={one.id}>
              <button type="button" aria-current={one.id === open?.id} onClick={() => openOf(one.id)}>
                <span className="strong">{nameOf(one, own)}</span>
                <span className="signet-id">
                  {one.isDirect ? t.chat.direct : t.chat.group(one.memberUserIds.length)} · {t.chat.states[one.status]}
                </span>
              </button>
            </li>
          ))}
        </ul>
        <TransferNote transfers={transfers} />
        <button
          type="button"
          className="signet-button"
          aria-current={view.is === "own"}
          onClick={() => setView({ is: "own" })}
        >
          {t.keys.own}
        </button>
        <OwnId own={own} />
      </nav>
      {view.is === "own" && <Own {...{ messenger, observed, transfers }} onBack={back} />}
      {open && (
        <Conversation
          key={open.id}
          {...{ messenger, own, observed, isOnline, audience, backend }}
          info={open}
          name={nameOf(open, own)}
          onBack={back}
        />
      )}
      {view.is !== "own" && open === undefined && (
        <main className="chat-empty">
          <p className="empty">{t.chat.none}</p>
          <p className="empty">{t.chat.noneNew}</p>
        </main>
      )}
      {isStarting && <Begin messenger={messenger} onBegun={openOf} onClose={() => setStarting(false)} />}
    </div>
  )
}

const nameOf = ({ isDirect, memberUserIds }: ConversationInfo, own: string): string => {
  const others = memberUserIds.filter((id) => id !== own)
  if (isDirect || others.length === 1) return short(others[0] ?? t.chat.waiting)
  return others.map(short).join(", ") || t.chat.onlyYou
}

/** A transfer goes on while another page of the chat is open. */
function TransferNote({ transfers }: { transfers: Transfers }): ReactNode {
  if (!transfers.isRunning || transfers.parts === 0) return null
  return (
    <p className="notice" role="status">
      {t.keys.running} {t.keys.parts(transfers.parts)}
    </p>
  )
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
