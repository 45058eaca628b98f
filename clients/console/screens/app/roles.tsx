import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { GrantLevel, Role_Status as Is, type Role } from "@signet/proto/auth/v1/roles"
import { Confirm, Dialog, enumName, Failed, Status, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useAsk, useList } from "../../ask.ts"
import { EditFailed } from "../../edit-failed.tsx"
import { changedFields, saveUnlessChanged } from "../../edits.ts"
import { Field, List, words } from "../../page.tsx"
import { Link } from "../../router.tsx"
import { t } from "../../text/screens.ts"

export function Roles({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, tenantId: own, reaches } = useAccess()
  const canWrite = scopes.has("auth.roles.write") && reaches("tenant")
  /** A tenant's administrator reads the app's roles, and changes the tenant's own. */
  const isOwn = ({ tenantId }: Role) => own === undefined || tenantId === own
  const [editing, setEditing] = useState<Role | "new">()
  const [archiving, setArchiving] = useState<Role>()
  const list = useList(["roles", appId, "list"], async (pageToken, signal) => {
    const page = await admin.listRoles({ appId, pageToken, pageSize: 50 }, { signal })
    return { items: page.roles, nextPageToken: page.nextPageToken }
  })
  return (
    <>
      {canWrite && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setEditing("new")}>
            {t.role.create}
          </button>
        </div>
      )}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.role.none}
        label={t.app.tabs.roles}
        columns={[
          {
            head: t.role.key,
            cell: ({ id, key, description }) => (
              <>
                {scopes.has("auth.grants.read") ? (
                  <Link to={`/apps/${appId}/grants/${id}`}>
                    <code>{key}</code>
                  </Link>
                ) : (
                  <code>{key}</code>
                )}
                <span className="signet-muted line">{description}</span>
              </>
            ),
          },
          { head: t.role.permissions, cell: ({ permissions }) => permissions.join(", ") },
          { head: t.role.inheritable, cell: ({ inheritable }) => (inheritable ? t.yes : t.no) },
          {
            head: t.role.levels,
            cell: ({ assignableAt }) => assignableAt.map((one) => enumName(GrantLevel, one)).join(", ") || t.role.all,
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          {
            head: "",
            cell: (role) =>
              canWrite &&
              isOwn(role) &&
              role.status === Is.ACTIVE && (
                <>
                  <button type="button" className="signet-button" onClick={() => setEditing(role)}>
                    {t.edit.edit}
                  </button>
                  <button type="button" className="signet-button" onClick={() => setArchiving(role)}>
                    {t.role.archive}
                  </button>
                </>
              ),
          },
        ]}
      />
      {editing && (
        <RoleForm appId={appId} role={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />
      )}
      {archiving && <Archive appId={appId} role={archiving} onClose={() => setArchiving(undefined)} />}
    </>
  )
}

/** Says how many grants end with the role. */
function Archive({ appId, role, onClose }: { appId: string; role: Role; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const count = useAsk(["grants", appId, "", role.id, "count"], async (signal) => {
    if (!scopes.has("auth.grants.read")) return undefined
    const { grants, nextPageToken } = await admin.listGrants({ appId, roleId: role.id, pageSize: 200 }, { signal })
    return t.role.grants(grants.filter(({ status }) => status === 1).length, nextPageToken !== "")
  })
  const archive = useAction(async () => {
    await admin.archiveRole({ appId, roleId: role.id })
    await Promise.all([changed("roles", appId), changed("grants")])
    onClose()
  })
  return (
    <Confirm
      title={t.role.archiveTitle(role.key)}
      about={
        <>
          <p>{t.role.archiveAbout}</p>
          <p aria-live="polite">{count.data ?? (count.isPending ? t.place.counting : t.place.uncounted)}</p>
        </>
      }
      action={t.role.archive}
      word={role.key}
      error={archive.error}
      isPending={archive.isPending}
      onConfirm={() => archive.run()}
      onClose={onClose}
    />
  )
}

const formOf = (role: Role | undefined) => ({
  key: role?.key ?? "",
  description: role?.description ?? "",
  permissions: role?.permissions.join("\n") ?? "",
  inheritable: role?.inheritable ?? true,
})

function RoleForm({ appId, role, onClose }: { appId: string; role: Role | undefined; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const { tenantId = "" } = useAccess()
  const [current, setCurrent] = useState(role)
  const opened = formOf(current)
  const [form, setForm] = useState(opened)
  const edited = changedFields(opened, form)
  const read = async () => (await admin.getRole({ appId, roleId: role?.id ?? "" })).role
  const save = useAction(async () => {
    const values = { ...form, permissions: words(form.permissions) }
    if (current === undefined) await admin.createRole({ appId, role: { ...values, tenantId } })
    else {
      const { id: roleId, etag } = current
      const request = { appId, roleId, role: { ...values, etag }, updateMask: { paths: [...edited] } }
      await saveUnlessChanged(() => admin.updateRole(request), { opened, read: async () => formOf(await read()) })
    }
    await changed("roles", appId)
    onClose()
  })
  const reload = async () => {
    const now = await read()
    save.clear()
    setCurrent(now)
    setForm(formOf(now))
  }
  return (
    <Dialog title={role === undefined ? t.role.create : t.role.edit(role.key)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        {role === undefined && (
          <Field
            label={t.role.key}
            value={form.key}
            onChange={(key) => setForm({ ...form, key })}
            isRequired
            placeholder="editor"
          />
        )}
        <Field
          label={t.role.description}
          value={form.description}
          onChange={(description) => setForm({ ...form, description })}
        />
        <Field
          label={t.role.permissions}
          hint={t.onePerLine}
          rows={5}
          value={form.permissions}
          onChange={(permissions) => setForm({ ...form, permissions })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={form.inheritable}
            onChange={(event) => setForm({ ...form, inheritable: event.target.checked })}
          />
          {t.role.inherits}
        </label>
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

export function Permissions({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, reaches } = useAccess()
  const [key, setKey] = useState("")
  const [description, setDescription] = useState("")
  const list = useList(["permissions", appId], async (pageToken, signal) => {
    const page = await admin.listPermissions({ appId, pageToken, pageSize: 50 }, { signal })
    return { items: page.permissions, nextPageToken: page.nextPageToken }
  })
  const create = useAction(async () => {
    await admin.createPermission({ appId, permission: { key, description } })
    setKey("")
    setDescription("")
    await changed("permissions", appId)
  })
  return (
    <>
      {scopes.has("auth.roles.write") && reaches("app") && (
        <form
          className="bar"
          onSubmit={(event) => {
            event.preventDefault()
            create.run()
          }}
        >
          <Field label={t.permission.key} value={key} onChange={setKey} isRequired placeholder="notes.note.edit" />
          <Field label={t.role.description} value={description} onChange={setDescription} />
          <button type="submit" className="signet-button" disabled={create.isPending}>
            {t.permission.create}
          </button>
        </form>
      )}
      <Failed error={create.error} />
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.permission.none}
        label={t.app.tabs.permissions}
        columns={[
          { head: t.permission.key, cell: (one) => <code>{one.key}</code> },
          { head: t.role.description, cell: (one) => one.description },
        ]}
      />
    </>
  )
}
