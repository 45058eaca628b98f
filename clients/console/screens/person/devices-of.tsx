import { createClient } from "@connectrpc/connect"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { type Device, Device_Status as Is } from "@signet/proto/messaging/v1/records"
import { claimsIn, enumName, Failed, Loading, Status, Time, useSignet } from "@signet/react/core"
import { type ReactNode, useMemo, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useAsk, useList, useMethod } from "../../ask.ts"
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
  const { settings, tenantId: own } = useAccess()
  const audience = settings.messagingAudience
  const transport = useMemo(() => session.transport({ audience }), [session, audience])
  const [tenantId, setTenantId] = useState("")
  const of = { userId: principalId, tenantId }
  const list = useList(DeviceService.method.listUserDevices, of, ({ devices }) => devices, transport)
  const revoke = async (what: Device | "all") => {
    const deviceIds = what === "all" ? [] : [what.id]
    await createClient(DeviceService, transport).revokeUserDevices({ ...of, deviceIds })
    await changed()
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
  const { appId } = useAccess()
  const { data, error } = useMethod(AppAuthService.method.listMemberships, { appId, principalId, pageSize: 200 })
  if (error) return <Failed error={error} />
  const tenants = [...new Set(data?.memberships.map(({ tenantId }) => tenantId))].filter((tenantId) => tenantId !== "")
  if (tenants.length === 0) return null
  return (
    <Choice
      label={t.place}
      value={value}
      onChange={onChange}
      of={[["", t.wholeApp], ...tenants.map((tenantId) => [tenantId, tenantId] as const)]}
    />
  )
}
