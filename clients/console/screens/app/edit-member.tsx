import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { Membership } from "@signet/proto/auth/v1/records"
import { useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { EditDialog } from "../../edit-dialog.tsx"
import { Field, words } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { useEdit } from "../../use-edit.ts"

const formOf = ({ profile, scopes }: Membership) => ({ name: profile?.name ?? "", scopes: scopes.join("\n") })

/** The field mask of each field. */
const paths = { name: "profile.name", scopes: "scopes" } as const

interface EditMemberProps {
  readonly membership: Membership
  /** Reads the list again. */
  readonly reload: () => void
}

/** A button that opens the name and the scopes of a membership. */
export function EditMember({ membership, reload }: EditMemberProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="signet-button" onClick={() => setOpen(true)}>
        {t.edit.edit}
      </button>
      {isOpen && <Form {...{ membership, reload }} onClose={() => setOpen(false)} />}
    </>
  )
}

function Form({ membership, reload, onClose }: EditMemberProps & { readonly onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const { appId, id: membershipId, profile, principalId } = membership
  const edit = useEdit(membership, {
    formOf,
    read: async () => (await admin.getMembership({ appId, membershipId })).membership ?? membership,
    async save(opened, { name, scopes }, fields) {
      const changes = { profile: { name }, scopes: words(scopes), etag: opened.etag }
      const updateMask = { paths: fields.map((field) => paths[field]) }
      const request = { appId, membershipId, membership: changes, updateMask }
      return (await admin.updateMembership(request)).membership ?? opened
    },
    async onSaved() {
      reload()
      onClose()
    },
  })
  const { form, set } = edit
  return (
    <EditDialog {...{ edit, onClose }} title={t.edit.of(profile?.name || profile?.email || principalId)}>
      <Field label={t.edit.shownName} value={form.name} onChange={(name) => set({ name })} />
      <Field
        label={t.invitation.scopes}
        hint={t.edit.scopesHint}
        rows={5}
        value={form.scopes}
        onChange={(scopes) => set({ scopes })}
      />
    </EditDialog>
  )
}
