import {
  type ConversationInfo,
  type DeviceInfo,
  isMessagingError,
  type Messenger,
  type UserVerification,
} from "@signet/client-web/messaging"
import { Confirm, Failed, Status, useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { Field } from "../page.tsx"
import { t } from "../text/chat.ts"
import { short } from "./short.ts"

interface DetailsProps {
  readonly messenger: Messenger
  readonly info: ConversationInfo
  readonly own: string
  readonly version: number
}

/** The members with their keys, and the own devices. */
export function Details({ messenger, info, own, version }: DetailsProps): ReactNode {
  const others = info.memberUserIds.filter((id) => id !== own)
  const [person, setPerson] = useState("")
  const add = useAction(async () => {
    await messenger.addMembers(info.id, [person.trim()])
    setPerson("")
  })
  return (
    <>
      {others.map((userId) => (
        <Person key={userId} {...{ messenger, userId, version }} />
      ))}
      {!info.isDirect && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            add.run()
          }}
        >
          <Field label={t.chat.addPerson} value={person} onChange={setPerson} placeholder="prn_…" isRequired />
          <Failed error={add.error} />
          <button type="submit" className="signet-button" disabled={add.isPending}>
            {t.chat.add}
          </button>
        </form>
      )}
      <Devices messenger={messenger} version={version} />
    </>
  )
}

/** Two people compare this number over another channel, or scan each other's code. */
function Person({ messenger, userId, version }: { messenger: Messenger; userId: string; version: number }): ReactNode {
  const [verification, setVerification] = useState<UserVerification>()
  const [code, setCode] = useState("")
  const [scanned, setScanned] = useState("")
  const [failure, setFailure] = useState<unknown>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event can change the keys.
  useEffect(() => {
    let isCurrent = true
    Promise.all([messenger.verification.of(userId), messenger.verification.qrCode(userId)]).then(
      ([found, qr]) => {
        if (!isCurrent) return
        setVerification(found)
        setCode(qr)
        setFailure(undefined)
      },
      (error: unknown) => isCurrent && setFailure(error),
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, userId, version])
  const mark = useAction(async (number: string) =>
    setVerification(await messenger.verification.markVerified(userId, number)),
  )
  const scan = useAction(async () => {
    setVerification(await messenger.verification.scan(userId, scanned.trim()))
    setScanned("")
  })
  if (verification === undefined) return <Failed error={failure} />
  const { status, safetyNumber, devices, listFault } = verification
  return (
    <section className="person">
      <h2>
        {short(userId)} <Status name={status} />
      </h2>
      {(status === "changed" || listFault) && (
        <p className="signet-failed" role="alert">
          {listFault ?? t.chat.keysChanged}
        </p>
      )}
      <p className="signet-muted">{t.chat.safetyAbout}</p>
      <output className="safety" aria-label={t.chat.safety}>
        {safetyNumber}
      </output>
      <button type="button" className="signet-button" disabled={mark.isPending} onClick={() => mark.run(safetyNumber)}>
        {t.chat.same}
      </button>
      <Failed error={mark.error} />
      <details>
        <summary>{t.chat.code}</summary>
        <output className="id qr-text" aria-label={t.chat.code}>
          {code}
        </output>
        <Field label={t.chat.scan} rows={2} value={scanned} onChange={setScanned} />
        {isMessagingError(scan.error, "COMPARISON_FAILED") ? (
          <p className="signet-failed" role="alert">
            {t.chat.differs}
          </p>
        ) : (
          <Failed error={scan.error} />
        )}
        <button
          type="button"
          className="signet-button"
          disabled={scanned === "" || scan.isPending}
          onClick={() => scan.run()}
        >
          {t.chat.compare}
        </button>
      </details>
      <p className="signet-muted">{t.chat.devicesOf(devices.length)}</p>
      <ul className="rows">
        {devices.map(({ deviceId, fingerprint, isCompared }) => (
          <li key={deviceId}>
            <code className="id">{fingerprint}</code>
            <span className="signet-muted">{isCompared ? t.chat.compared : t.chat.notCompared}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Devices({ messenger, version }: { messenger: Messenger; version: number }): ReactNode {
  const [devices, setDevices] = useState<readonly DeviceInfo[]>([])
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
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, version])
  return (
    <section className="person">
      <h2>{t.chat.yourDevices}</h2>
      <ul className="rows">
        {devices.map((device) => (
          <li key={device.id}>
            <span>
              {device.isThisOne ? t.chat.thisDevice : device.platform}
              <span className="signet-id">{device.id}</span>
            </span>
            {device.isRevoked ? (
              <Status name="REVOKED" />
            ) : (
              !device.isThisOne && (
                <button type="button" className="signet-button" onClick={() => setAsked(device)}>
                  {t.chat.revoke}
                </button>
              )
            )}
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          title={t.chat.revokeTitle}
          about={t.chat.revokeAbout}
          action={t.chat.revoke}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  )
}
