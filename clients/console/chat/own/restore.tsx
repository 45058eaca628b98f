import type { Messenger } from "@signet/client-web/messaging"
import { type BackupSummary, readBackup, restoreBackup, storedBackup } from "@signet/client-web/messaging/backup"
import { useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { Field } from "../../page.tsx"
import { t } from "../../text/chat.ts"
import { Problem } from "../problem.tsx"

export const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

/** Reads a backup, shows its date, and then restores it. */
export function Restore({ messenger, hasStored }: { messenger: Messenger; hasStored: boolean }): ReactNode {
  const [recoveryKey, setRecoveryKey] = useState("")
  const [file, setFile] = useState<File>()
  const [found, setFound] = useState<BackupSummary>()
  const [result, setResult] = useState<string>()
  const source = () => file?.stream() ?? storedBackup(messenger)
  const check = useAction(async () => {
    setResult(undefined)
    setFound(undefined)
    setFound(await readBackup(messenger, source(), { recoveryKey }))
  })
  const restore = useAction(async () => {
    const { importedEntries, changedUserIds } = await restoreBackup(messenger, source(), { recoveryKey })
    const again = changedUserIds.length > 0 ? ` ${t.keys.compareAgain(changedUserIds.length)}` : ""
    setResult(t.keys.restored(importedEntries) + again)
    setFound(undefined)
    setRecoveryKey("")
  })
  return (
    <details>
      <summary>{t.keys.restore}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          check.run()
        }}
      >
        <label className="signet-field">
          {t.keys.backupFile}
          {hasStored && <span className="hint">{t.keys.restoreServer}</span>}
          <input type="file" onChange={(event) => setFile(event.target.files?.[0])} />
        </label>
        <Field label={t.keys.recoveryKey} value={recoveryKey} onChange={setRecoveryKey} isRequired />
        <button
          type="submit"
          className="signet-button"
          disabled={check.isPending || recoveryKey === "" || (file === undefined && !hasStored)}
        >
          {t.keys.check}
        </button>
      </form>
      {found && (
        <div className="notice">
          <p>{t.keys.of(dates.format(found.createdAtMs))}</p>
          <p>{t.keys.found(found.conversations, found.entries)}</p>
          <button
            type="button"
            className="signet-button signet-primary"
            disabled={restore.isPending}
            onClick={() => restore.run()}
          >
            {t.keys.restoreNow}
          </button>
        </div>
      )}
      {restore.isPending && <progress aria-label={t.keys.restore} />}
      <p role="status">{result}</p>
      <Problem error={check.error ?? restore.error} />
    </details>
  )
}
