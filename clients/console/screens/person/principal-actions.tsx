import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { PrincipalCredentials } from "@signet/proto/auth/v1/principals"
import {
  Principal_Status as Is,
  type Principal,
  type ProviderAccount,
  ProviderAccount_Status,
} from "@signet/proto/auth/v1/records"
import { Confirm, Counted, Dialog, Failed, upTo1000, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { changed } from "../../ask.ts"
import { Field } from "../../page.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"

type Ask = "suspend" | "deactivate"

/** Lock, suspend and deactivate a principal, and their opposites. */
export function PrincipalActions({ principal: { id, status } }: { principal: Principal }): ReactNode {
  const admin = useService(AppAuthService)
  const [asked, setAsked] = useState<Ask>()
  const [isLocking, setLocking] = useState(false)
  const act = useAction(async (what: Ask | "unlock" | "resume" | "reactivate") => {
    const calls = {
      suspend: admin.suspendPrincipal,
      deactivate: admin.deactivatePrincipal,
      unlock: admin.unlockPrincipal,
      resume: admin.resumePrincipal,
      reactivate: admin.reactivatePrincipal,
    }
    await calls[what]({ principalId: id })
    setAsked(undefined)
    await changed()
  })
  const button = (label: string, run: () => void) => (
    <button type="button" className="signet-button" disabled={act.isPending} onClick={run}>
      {label}
    </button>
  )
  return (
    <div className="buttons">
      {status === Is.ACTIVE && (
        <>
          {button(t.person.lock, () => setLocking(true))}
          {button(t.person.suspend, () => setAsked("suspend"))}
          {button(t.person.deactivate, () => setAsked("deactivate"))}
        </>
      )}
      {status === Is.LOCKED && button(t.person.unlock, () => act.run("unlock"))}
      {status === Is.SUSPENDED && button(t.person.resume, () => act.run("resume"))}
      {status === Is.DEACTIVATED && button(t.person.reactivate, () => act.run("reactivate"))}
      {asked === undefined && <Failed error={act.error} />}
      {isLocking && <Lock principalId={id} onClose={() => setLocking(false)} />}
      {asked && (
        <Confirm
          title={t.person.ask[asked].title}
          about={<Ending about={t.person.ask[asked].about} principalId={id} text={allOf} />}
          action={t.person[asked]}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run(asked)}
          onClose={() => {
            act.clear()
            setAsked(undefined)
          }}
        />
      )}
    </div>
  )
}

function Lock({ principalId, onClose }: { principalId: string; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const [minutes, setMinutes] = useState("60")
  const [reason, setReason] = useState("")
  const lock = useAction(async () => {
    const lockExpiresAt = timestampFromMs(Date.now() + Number(minutes) * 60_000)
    await admin.lockPrincipal({ principalId, lockExpiresAt, reason })
    await changed()
    onClose()
  })
  return (
    <Dialog title={t.person.lockTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          lock.run()
        }}
      >
        <div className="signet-about">
          <Ending
            {...{ principalId, about: t.person.lockAbout }}
            text={({ sessions }) => counted.refusedSessions(upTo1000(sessions))}
          />
        </div>
        <Field label={t.person.minutes} type="number" value={minutes} onChange={setMinutes} isRequired />
        <Field label={t.person.lockReason} value={reason} onChange={setReason} />
        <Failed error={lock.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-danger" disabled={lock.isPending}>
            {t.person.lock}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Blocks a provider account, or lifts the block. */
export function ProviderAccountAction(props: { account: ProviderAccount; principalId: string }): ReactNode {
  const { account, principalId } = props
  const admin = useService(AppAuthService)
  const [isAsking, setAsking] = useState(false)
  const act = useAction(async () => {
    const request = { providerAccountId: account.id }
    if (account.status === ProviderAccount_Status.BLOCKED) await admin.unblockProviderAccount(request)
    else await admin.blockProviderAccount(request)
    setAsking(false)
    await changed()
  })
  if (account.status === ProviderAccount_Status.BLOCKED) {
    return (
      <button type="button" className="signet-button" disabled={act.isPending} onClick={() => act.run()}>
        {t.person.unblock}
      </button>
    )
  }
  if (account.status !== ProviderAccount_Status.LINKED) return null
  return (
    <>
      <button type="button" className="signet-button" onClick={() => setAsking(true)}>
        {t.person.block}
      </button>
      {isAsking && (
        <Confirm
          title={t.person.blockTitle}
          about={
            <Ending
              {...{ principalId, about: t.person.blockAbout(account.email || account.subject) }}
              text={({ sessionsByProviderAccount: of }) => counted.sessions(upTo1000(of[account.id] ?? 0))}
            />
          }
          action={t.person.block}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

interface EndingProps {
  readonly about: string
  readonly principalId: string
  /** The numbers of what ends, in words. */
  readonly text: (credentials: PrincipalCredentials) => string
}

/** The things that an action ends, with the number of the principal's credentials in all apps. */
function Ending({ about, principalId, text }: EndingProps): ReactNode {
  const admin = useService(AppAuthService)
  const count = async (signal: AbortSignal) => {
    const { credentials } = await admin.getPrincipal({ principalId }, { signal })
    if (credentials === undefined) throw new Error("the service has not counted")
    return text(credentials)
  }
  return <Counted {...{ about, count }} />
}

/** Everything that ends with the principal. */
function allOf({ sessions, pats, secrets }: PrincipalCredentials): string {
  const ends = [counted.sessions(upTo1000(sessions)), counted.pats(upTo1000(pats))]
  return [...ends, ...(secrets > 0 ? [counted.secrets(upTo1000(secrets))] : [])].join(" ")
}
