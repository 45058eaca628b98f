import type { DeviceInfo, Messenger } from "@signet/client-web/messaging"
import { Confirm, Counted, Status, useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../../text/chat.ts"
import { Problem } from "../problem.tsx"

/** The user's devices. Another one can be revoked. */
export function Devices({ messenger, keyVersion }: { messenger: Messenger; keyVersion: number }): ReactNode {
  const [devices, setDevices] = useState<readonly DeviceInfo[]>([])
  const [failure, setFailure] = useState<unknown>()
  const [asked, setAsked] = useState<DeviceInfo>()
  const revoke = useAction(async ({ id }: DeviceInfo) => {
    await messenger.revokeDevice(id)
    setAsked(undefined)
    setDevices(await messenger.devices())
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event can change the list.
  useEffect(() => {
    let isCurrent = true
    messenger.devices().then(
      (found) => isCurrent && setDevices(found),
      (error: unknown) => isCurrent && setFailure(error),
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, keyVersion])
  return (
    <section className="card">
      <h2>{t.keys.yourDevices}</h2>
      <Problem error={failure} />
      <ul className="rows">
        {devices.map((device) => (
          <li key={device.id}>
            <span>
              {device.isThisOne ? t.keys.thisDevice : device.platform}
              <span className="signet-id">{device.id}</span>
            </span>
            {device.isRevoked ? (
              <Status name="REVOKED" />
            ) : (
              !device.isThisOne && (
                <button type="button" className="signet-button" onClick={() => setAsked(device)}>
                  {t.keys.revoke}
                </button>
              )
            )}
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          title={t.keys.revokeTitle}
          about={
            <Counted
              about={t.keys.revokeAbout}
              count={async () => t.keys.revokeCount((await messenger.conversations()).length)}
            />
          }
          action={t.keys.revoke}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  )
}
