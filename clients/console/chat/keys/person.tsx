import { isMessagingError, type Messenger, type UserVerification } from "@signet/client-web/messaging"
import { Confirm, Counted, Status, useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../../text/chat.ts"
import { Problem } from "../problem.tsx"
import { short } from "../short.ts"
import { QrCode } from "./qr-code.tsx"
import { QrReader } from "./qr-reader.tsx"

interface PersonProps {
  readonly messenger: Messenger
  readonly userId: string
  readonly keyVersion: number
  readonly isBlocked: boolean
  readonly onCompared: () => void
  /** Further actions on a member of a group. */
  readonly actions?: (devices: number) => ReactNode
}

/** Two people compare this number over another channel, or scan each other's code. */
export function Person({ messenger, userId, keyVersion, isBlocked, onCompared, actions }: PersonProps): ReactNode {
  const [verification, setVerification] = useState<UserVerification>()
  const [failure, setFailure] = useState<unknown>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event can change the keys.
  useEffect(() => {
    let isCurrent = true
    messenger.verification.of(userId).then(
      (found) => {
        if (!isCurrent) return
        setVerification(found)
        setFailure(undefined)
      },
      (error: unknown) => isCurrent && setFailure(error),
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, userId, keyVersion])
  const accept = (found: UserVerification) => {
    setVerification(found)
    onCompared()
  }
  const mark = useAction(async (number: string) => accept(await messenger.verification.markVerified(userId, number)))
  // With a key the button stays the same in both forms, and so an open question stays open.
  if (verification === undefined) {
    return (
      <section className="person">
        <h2>{short(userId)}</h2>
        <Problem error={failure} />
        {actions?.(0)}
        <Blocking key="blocking" {...{ messenger, userId, isBlocked }} />
      </section>
    )
  }
  const { status, safetyNumber, devices, listFault } = verification
  return (
    <section className="person">
      <h2>
        {short(userId)} <Status name={status} />
        {isBlocked && <Status name={t.keys.blocked} />}
      </h2>
      {(status === "changed" || listFault) && (
        <p className="signet-failed" role="alert">
          {listFault ?? t.chat.keysChanged}
        </p>
      )}
      <p className="signet-muted">{t.keys.safetyAbout}</p>
      <output className="safety" aria-label={t.keys.safety}>
        {safetyNumber}
      </output>
      <button type="button" className="signet-button" disabled={mark.isPending} onClick={() => mark.run(safetyNumber)}>
        {t.keys.same}
      </button>
      <Problem error={mark.error ?? failure} />
      <Codes {...{ messenger, userId, keyVersion }} onScanned={accept} />
      <details>
        <summary>{t.keys.devicesOf(devices.length)}</summary>
        <ul className="rows">
          {devices.map(({ deviceId, fingerprint, isCompared }) => (
            <li key={deviceId}>
              <span>
                <code className="id">{fingerprint}</code>
                <span className="signet-id">{deviceId}</span>
              </span>
              <span className="signet-muted">{isCompared ? t.keys.compared : t.keys.notCompared}</span>
            </li>
          ))}
        </ul>
      </details>
      {actions?.(devices.length)}
      <Blocking key="blocking" {...{ messenger, userId, isBlocked }} />
    </section>
  )
}

interface CodesProps extends Pick<PersonProps, "messenger" | "userId" | "keyVersion"> {
  readonly onScanned: (found: UserVerification) => void
}

/** The own code, drawn, and a reader for the other person's. */
function Codes({ messenger, userId, keyVersion, onScanned }: CodesProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const [code, setCode] = useState("")
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event can change the keys.
  useEffect(() => {
    let isCurrent = true
    if (isOpen) {
      messenger.verification.qrCode(userId).then(
        (found) => isCurrent && setCode(found),
        () => {},
      )
    }
    return () => {
      isCurrent = false
    }
  }, [messenger, userId, keyVersion, isOpen])
  const scan = useAction(async (text: string) => onScanned(await messenger.verification.scan(userId, text)))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.keys.code}</summary>
      <p className="signet-muted">{t.keys.codeAbout}</p>
      {code !== "" && (
        <>
          <QrCode text={code} label={t.keys.code} />
          <details>
            <summary>{t.keys.codeText}</summary>
            <output className="id qr-text" aria-label={t.keys.codeText}>
              {code}
            </output>
          </details>
        </>
      )}
      <QrReader label={t.keys.scan} action={t.keys.compare} isPending={scan.isPending} onRead={scan.run} />
      {isMessagingError(scan.error, "COMPARISON_FAILED") ? (
        <p className="signet-failed" role="alert">
          {t.keys.differs}
        </p>
      ) : (
        <Problem error={scan.error} />
      )}
    </details>
  )
}

/** Blocks a person on all devices of this user, after a question; or unblocks. */
export function Blocking({
  messenger,
  userId,
  isBlocked,
}: Pick<PersonProps, "messenger" | "userId" | "isBlocked">): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const change = useAction(async () => {
    await (isBlocked ? messenger.unblock(userId) : messenger.block(userId))
    setAsking(false)
  })
  const count = async () => {
    const all = await messenger.conversations()
    return t.keys.blockCount(all.filter(({ memberUserIds }) => memberUserIds.includes(userId)).length)
  }
  return (
    <>
      <button
        type="button"
        className="signet-button"
        disabled={change.isPending}
        onClick={() => (isBlocked ? change.run() : setAsking(true))}
      >
        {isBlocked ? t.keys.unblock : t.keys.block}
      </button>
      {!isAsking && <Problem error={change.error} />}
      {isAsking && (
        <Confirm
          title={t.keys.blockTitle(short(userId))}
          about={<Counted about={t.keys.blockAbout} count={count} />}
          action={t.keys.block}
          error={change.error}
          isPending={change.isPending}
          onConfirm={() => change.run()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}
