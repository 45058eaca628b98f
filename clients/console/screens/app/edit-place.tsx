import { type ReactNode, useState } from "react"
import { changed } from "../../ask.ts"
import { EditDialog } from "../../edit-dialog.tsx"
import { Field } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { useEdit } from "../../use-edit.ts"

interface Named {
  readonly name: string
  readonly etag: string
}

interface EditPlaceProps<Place extends Named> {
  readonly place: Place
  readonly read: () => Promise<Place | undefined>
  readonly update: (name: string, etag: string) => Promise<Place | undefined>
}

/** A button that opens the name of a tenant or a context. */
export function EditPlace<Place extends Named>(props: EditPlaceProps<Place>): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="signet-button" onClick={() => setOpen(true)}>
        {t.edit.edit}
      </button>
      {isOpen && <Form {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

function Form<Place extends Named>(props: EditPlaceProps<Place> & { readonly onClose: () => void }): ReactNode {
  const { place, read, update, onClose } = props
  const edit = useEdit(place, {
    formOf: ({ name }) => ({ name }),
    read: async () => (await read()) ?? place,
    save: async ({ etag }, { name }) => (await update(name, etag)) ?? place,
    async onSaved() {
      await changed()
      onClose()
    },
  })
  return (
    <EditDialog {...{ edit, onClose }} title={t.edit.of(place.name)}>
      <Field label={t.tenant.name} value={edit.form.name} onChange={(name) => edit.set({ name })} isRequired />
    </EditDialog>
  )
}
