import { Dialog } from "@signet/react/core"
import type { ReactNode } from "react"
import { EditFailed } from "./edit-failed.tsx"
import type { Fields } from "./edits.ts"
import { t } from "./text/screens.ts"
import type { Edit } from "./use-edit.ts"

interface EditDialogProps {
  readonly title: string
  readonly edit: Pick<Edit<Fields>, "save" | "edited" | "reload">
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A form in a dialog. It saves only what the person changed, and shows what somebody else has changed meanwhile. */
export function EditDialog({ title, edit: { save, edited, reload }, onClose, children }: EditDialogProps): ReactNode {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        {children}
        <EditFailed error={save.error} onReload={() => void reload()} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button
            type="submit"
            className="signet-button signet-primary"
            disabled={save.isPending || edited.length === 0}
          >
            {t.save}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
