import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { Dialog, enumName, Failed, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useList } from "../ask.ts"
import { Field, Id, List, Page, words } from "../page.tsx"
import { Link, navigate } from "../router.tsx"
import { t } from "../text/screens.ts"

export function Apps(): ReactNode {
  const { isInstallation } = useAccess()
  const [isCreating, setCreating] = useState(false)
  const list = useList(AppAuthService.method.listApps, { pageSize: 50 }, ({ apps }) => apps)
  return (
    <Page
      title={t.apps.title}
      about={isInstallation ? t.apps.about : t.apps.aboutOne}
      actions={
        isInstallation && (
          <button type="button" className="signet-button signet-primary" onClick={() => setCreating(true)}>
            {t.apps.create}
          </button>
        )
      }
    >
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.apps.none}
        label={t.apps.title}
        columns={[
          {
            head: t.app.name,
            cell: ({ id, name }) => (
              <>
                <Link to={`/apps/${id}`}>{name || id}</Link>
                <Id of={id} />
              </>
            ),
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(PlaceStatus, status)} /> },
          { head: t.app.audiences, cell: ({ audiences }) => audiences.join(", ") },
          { head: t.app.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {isCreating && <NewApp onClose={() => setCreating(false)} />}
    </Page>
  )
}

function NewApp({ onClose }: { onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const [name, setName] = useState("")
  const [audiences, setAudiences] = useState("")
  const create = useAction(async () => {
    const { app } = await admin.createApp({ app: { name, audiences: words(audiences) } })
    await changed()
    navigate(`/apps/${app?.id}`)
  })
  return (
    <Dialog title={t.apps.createTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Field label={t.app.name} value={name} onChange={setName} isRequired />
        <Field label={t.app.audiences} value={audiences} onChange={setAudiences} placeholder="svc-orders" />
        <Failed error={create.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={create.isPending}>
            {t.apps.create}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
