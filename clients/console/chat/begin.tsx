import type { Messenger } from "@signet/client-web/messaging"
import { Dialog, useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { Field, words } from "../page.tsx"
import { t } from "../text/chat.ts"
import { Problem } from "./problem.tsx"

interface BeginProps {
  readonly messenger: Messenger
  readonly onBegun: (id: string) => void
  readonly onClose: () => void
}

/** One id begins the direct conversation, several a group. */
export function Begin({ messenger, onBegun, onClose }: BeginProps): ReactNode {
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
        <Problem error={begin.error} />
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
