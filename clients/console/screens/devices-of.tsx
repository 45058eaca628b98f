import { createClient } from "@connectrpc/connect"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { type Device, Device_Status as Is } from "@signet/proto/messaging/v1/records"
import {
  Confirm,
  claimsIn,
  enumName,
  Failed,
  Loading,
  Status,
  Time,
  useAction,
  useService,
  useSignet,
} from "@signet/react/core"
import { type ReactNode, useMemo, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useAsk, useList } from "../ask.ts"
import { Card, Choice, Id, List } from "../page.tsx"
import { t } from "../text/devices.ts"

/**
 * A person's messaging devices where the signed-in person administers. The messaging service may have an audience of
 * its own, with its own scopes.
 */
export function DevicesOf({ principalId }: { principalId: string }): ReactNode {
  const { session } = useSignet()
  const { appId, settings } = useAccess()
  const audience = settings.messagingAudience
  const scopes = useAsk(["messaging scopes", appId], async () => claimsIn(await session.accessToken(audience)).scopes)
  if (scopes.isPending) return <Loading />
  // An app without messaging has no such audience.
  if (scopes.data?.has("messaging.devices.read") !== true) return null
  return <Devices principalId={principalId} canWrite={scopes.data.has("messaging.devices.write")} />
}

function Devices({ principalId, canWrite }: { principalId: string; canWrite: boolean }): ReactNode {
  const { session } = useSignet()
  const { appId, settings, tenantId: own } = useAccess()
  const audience = settings.messagingAudience
  const devices = useMemo(() => createClient(DeviceService, session.transport({ audience })), [session, audience])
  const [tenantId, setTenantId] = useState("")
  const key = ["devices", appId, principalId, tenantId]
  const list = useList(key, async (pageToken, signal) => {
    const page = await devices.listUserDevices({ userId: principalId, tenantId, pageToken }, { signal })
    return { items: page.devices, nextPageToken: page.nextPageToken }
  })
  const [ending, setEnding] = useState<Device | "all">()
  const revoke = useAction(async (what: Device | "all") => {
    const deviceIds = what === "all" ? [] : [what.id]
    await devices.revokeUserDevices({ userId: principalId, tenantId, deviceIds })
    setEnding(undefined)
    await Promise.all([changed(...key), changed("sessions", appId, principalId), changed("audit")])
  })
  const active = list.items.filter(({ status }) => status === Is.ACTIVE).length
  return (
    <Card
      title={t.title}
      actions={
        canWrite &&
        active > 0 && (
          <button type="button" className="signet-button signet-danger" onClick={() => setEnding("all")}>
            {t.endAll}
          </button>
        )
      }
    >
      {own === undefined && <Place principalId={principalId} value={tenantId} onChange={setTenantId} />}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.none}
        label={t.title}
        columns={[
          {
            head: t.device,
            cell: ({ id, platform }) => (
              <>
                {platform || t.unnamed}
                <Id of={id} />
              </>
            ),
          },
          { head: t.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          { head: t.registered, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { head: t.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          { head: t.revoked, cell: ({ revokedAt }) => <Time at={revokedAt} /> },
          {
            head: "",
            cell: (device) =>
              canWrite &&
              device.status === Is.ACTIVE && (
                <button type="button" className="signet-button" onClick={() => setEnding(device)}>
                  {t.end}
                </button>
              ),
          },
        ]}
      />
      {ending && (
        <Confirm
          title={ending === "all" ? t.endAllTitle : t.endTitle}
          about={ending === "all" ? t.endAllAbout(active, list.hasMore) : t.endAbout(ending.platform || ending.id)}
          action={ending === "all" ? t.endAll : t.end}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(ending)}
          onClose={() => {
            revoke.clear()
            setEnding(undefined)
          }}
        />
      )}
    </Card>
  )
}

interface PlaceProps {
  readonly principalId: string
  readonly value: string
  readonly onChange: (tenantId: string) => void
}

/** Devices belong to the app or to one tenant: an administrator of the app chooses among the person's memberships. */
function Place({ principalId, value, onChange }: PlaceProps): ReactNode {
  const admin = useService(AppAuthService)
  const { appId } = useAccess()
  const { data, error } = useAsk(["tenants of", appId, principalId], async (signal) => {
    const { memberships } = await admin.listMemberships({ appId, principalId, pageSize: 200 }, { signal })
    return [...new Set(memberships.map(({ tenantId }) => tenantId))].filter((tenantId) => tenantId !== "")
  })
  if (error) return <Failed error={error} />
  if (data === undefined || data.length === 0) return null
  return (
    <Choice
      label={t.place}
      value={value}
      onChange={onChange}
      of={[["", t.wholeApp], ...data.map((tenantId) => [tenantId, tenantId] as const)]}
    />
  )
}
