import type { Messenger } from "@signet/client-web/messaging"
import {
  deleteStoredBackup,
  exportBackup,
  listStoredBackups,
  type StoredBackup,
  storeBackup,
} from "@signet/client-web/messaging/backup"
import { Confirm, Dialog, ShownOnce, useAction } from "@signet/react/core"
import { type ReactNode, useCallback, useEffect, useState } from "react"
import { t } from "../../text/chat.ts"
import { saveAs } from "../attachment.tsx"
import { Problem } from "../problem.tsx"
import { dates, Restore } from "./restore.tsx"

/** Creates backups, lists those at the server, and restores one. */
export function Backup({ messenger }: { messenger: Messenger }): ReactNode {
  const [recoveryKey, setRecoveryKey] = useState<string>()
  const [isDone, setDone] = useState(false)
  const [found, setFound] = useState<readonly StoredBackup[]>()
  const reload = useCallback(() => listStoredBackups(messenger).then(setFound, () => {}), [messenger])
  useEffect(() => void reload(), [reload])
  const create = useAction(async (to: "server" | "file") => {
    setDone(false)
    setRecoveryKey(await (to === "server" ? toServer(messenger) : toFile(messenger)))
    await reload()
  })
  const [asked, setAsked] = useState<StoredBackup>()
  const remove = useAction(async (id: string) => {
    await deleteStoredBackup(messenger, id)
    setAsked(undefined)
    await reload()
  })
  return (
    <section className="card">
      <h2>{t.keys.backup}</h2>
      <p className="signet-muted">{t.keys.backupAbout}</p>
      <div className="chat-actions">
        <button
          type="button"
          className="signet-button"
          disabled={create.isPending}
          onClick={() => create.run("server")}
        >
          {t.keys.storeBackup}
        </button>
        <button type="button" className="signet-button" disabled={create.isPending} onClick={() => create.run("file")}>
          {t.keys.saveBackup}
        </button>
      </div>
      {create.isPending && <progress aria-label={t.keys.backup} />}
      <p role="status">{isDone && t.keys.backedUp}</p>
      <Problem error={create.error} />
      <h3>{t.keys.storedBackups}</h3>
      {found?.length === 0 && <p className="signet-muted">{t.keys.noBackups}</p>}
      <ul className="rows">
        {found?.map((stored) => (
          <li key={stored.id}>
            <span>
              {dates.format(stored.storedAtMs)} · {t.chat.bytes(stored.size)}
            </span>
            <button
              type="button"
              className="signet-button"
              disabled={remove.isPending}
              onClick={() => setAsked(stored)}
            >
              {t.keys.remove}
            </button>
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          title={t.keys.removeTitle}
          about={t.keys.removeAbout(dates.format(asked.storedAtMs), (found?.length ?? 1) - 1)}
          action={t.keys.remove}
          error={remove.error}
          isPending={remove.isPending}
          onConfirm={() => remove.run(asked.id)}
          onClose={() => setAsked(undefined)}
        />
      )}
      <Restore messenger={messenger} hasStored={(found?.length ?? 0) > 0} />
      {recoveryKey !== undefined && (
        <Dialog title={t.keys.recoveryKey} onClose={() => {}}>
          <p>{t.keys.recoveryAbout}</p>
          <ShownOnce label={t.keys.recoveryKey} secret={recoveryKey} />
          <div className="signet-actions">
            <button
              type="button"
              className="signet-button signet-primary"
              onClick={() => {
                setRecoveryKey(undefined)
                setDone(true)
              }}
            >
              {t.keys.written}
            </button>
          </div>
        </Dialog>
      )}
    </section>
  )
}

const toServer = async (messenger: Messenger): Promise<string> => (await storeBackup(messenger)).recoveryKey

async function toFile(messenger: Messenger): Promise<string> {
  const { recoveryKey, bytes } = await exportBackup(messenger)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of bytes) pieces.push(new Uint8Array(piece))
  const day = new Date().toISOString().slice(0, 10)
  saveAs(new Blob(pieces, { type: "application/octet-stream" }), `signet-${day}.backup`)
  return recoveryKey
}
