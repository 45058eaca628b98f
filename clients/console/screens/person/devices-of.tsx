import { createClient } from "@connectrpc/connect"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { type Device, Device_Status as Is } from "@signet/proto/messaging/v1/records"
import { claimsIn, enumName, Failed, Loading, Status, Time, useService, useSignet } from "@signet/react/core"
import { type ReactNode, useMemo, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useAsk, useList } from "../../ask.ts"
import { Choice, Id } from "../../page.tsx"
import { t } from "../../text/devices.ts"
import { RevokeList } from "./revoke-list.tsx"

/**
 * A person's messaging devices where the signed-in person administers: devices belong to the app or a tenant. The
 * messaging service may have an audience of its own, with its own scopes.
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
  const revoke = async (what: Device | "all") => {
    const deviceIds = what === "all" ? [] : [what.id]
    await devices.revokeUserDevices({ userId: principalId, tenantId, deviceIds })
    await Promise.all([changed(...key), changed("sessions", appId, principalId), changed("audit")])
  }
  return (
    <RevokeList
      {...{ list, canWrite, revoke }}
      title={t.title}
      text={t}
      nameOf={({ id, platform }) => platform || id}
      isActive={({ status }) => status === Is.ACTIVE}
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
      ]}
    >
      {own === undefined && <Place principalId={principalId} value={tenantId} onChange={setTenantId} />}
    </RevokeList>
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
