import type { Messenger } from "@signet/client-web/messaging"
import type { ReactNode } from "react"
import { Id } from "../../page.tsx"
import { t } from "../../text/chat.ts"
import { Devices } from "../keys/devices.tsx"
import { Blocking } from "../keys/person.tsx"
import type { Observed } from "../use-messenger.ts"
import { Backup } from "./backup.tsx"
import { History } from "./history.tsx"
import type { Transfers } from "./use-history.ts"

interface OwnProps {
  readonly messenger: Messenger
  readonly observed: Observed
  readonly transfers: Transfers
  readonly onBack: () => void
}

/** The user's own matters: devices, history, backups, and the people whom they block. */
export function Own({ messenger, observed, transfers, onBack }: OwnProps): ReactNode {
  return (
    <main className="chat-own-page">
      <div className="chat-head">
        <button type="button" className="signet-button chat-back" onClick={onBack}>
          {t.chat.back}
        </button>
        <h1>{t.keys.own}</h1>
      </div>
      <p className="page-about">{t.keys.ownAbout}</p>
      <Devices messenger={messenger} keyVersion={observed.keyVersion} />
      <History messenger={messenger} transfers={transfers} />
      <Backup messenger={messenger} />
      <section className="card">
        <h2>{t.keys.blockedPeople}</h2>
        {observed.blocked.length === 0 && <p className="signet-muted">{t.keys.nobody}</p>}
        <ul className="rows">
          {observed.blocked.map((userId) => (
            <li key={userId}>
              <Id of={userId} />
              <span>
                <Blocking messenger={messenger} userId={userId} isBlocked />
              </span>
            </li>
          ))}
        </ul>
      </section>
    </main>
  )
}
