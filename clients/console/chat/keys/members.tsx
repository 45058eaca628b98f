import { type ConversationInfo, isMessagingError, type Messenger } from "@signet/client-web/messaging"
import { Confirm, useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { Field, words } from "../../page.tsx"
import { t } from "../../text/chat.ts"
import { Problem } from "../problem.tsx"
import { short } from "../short.ts"
import type { Observed } from "../use-messenger.ts"
import { Person } from "./person.tsx"

interface MembersProps {
  readonly messenger: Messenger
  readonly info: ConversationInfo
  readonly own: string
  readonly observed: Observed
  readonly onCompared: () => void
}

/** Stored changes are made later, and the timeline shows them then. */
const unlessStored = (error: unknown): void => {
  if (!isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) throw error
}

/** The members with their keys and devices, and what can be changed about a group. */
export function Members({ messenger, info, own, observed, onCompared }: MembersProps): ReactNode {
  const [removed, setRemoved] = useState<{ userId: string; devices: number }>()
  const others = info.memberUserIds.filter((id) => id !== own)
  const isChangeable = !info.isDirect && info.status === "active"
  const remove = useAction(async (userId: string) => {
    await messenger.removeMembers(info.id, [userId]).catch(unlessStored)
    setRemoved(undefined)
  })
  return (
    <>
      {isChangeable && <Group {...{ messenger, info, version: observed.version }} />}
      {others.map((userId) => (
        <Person
          key={userId}
          {...{ messenger, userId, onCompared }}
          keyVersion={observed.keyVersion}
          isBlocked={observed.blocked.includes(userId)}
          actions={(devices) =>
            isChangeable && (
              <button type="button" className="signet-button" onClick={() => setRemoved({ userId, devices })}>
                {t.chat.remove}
              </button>
            )
          }
        />
      ))}
      {removed && (
        <Confirm
          title={t.chat.removeTitle(short(removed.userId))}
          about={t.chat.removeAbout(removed.devices)}
          action={t.chat.remove}
          error={remove.error}
          isPending={remove.isPending}
          onConfirm={() => remove.run(removed.userId)}
          onClose={() => setRemoved(undefined)}
        />
      )}
    </>
  )
}

interface GroupProps {
  readonly messenger: Messenger
  readonly info: ConversationInfo
  readonly version: number
}

/** Adds people, leaves the group, and shows the code that all members have in common. */
function Group({ messenger, info, version }: GroupProps): ReactNode {
  const [people, setPeople] = useState("")
  const [code, setCode] = useState("")
  const [isLeaving, setLeaving] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the group has another code.
  useEffect(() => {
    let isCurrent = true
    messenger.verification.groupCode(info.id).then(
      (found) => isCurrent && setCode(found),
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, info.id, version])
  const add = useAction(async () => {
    await messenger.addMembers(info.id, words(people)).catch(unlessStored)
    setPeople("")
  })
  const leave = useAction(async () => {
    await messenger.leave(info.id).catch(unlessStored)
    setLeaving(false)
  })
  return (
    <section className="person">
      <h2>{t.chat.members}</h2>
      <p className="signet-muted">{t.chat.groupCodeAbout}</p>
      <output className="safety" aria-label={t.chat.groupCode}>
        {code}
      </output>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          add.run()
        }}
      >
        <Field label={t.chat.addPerson} value={people} onChange={setPeople} placeholder="prn_…" isRequired />
        <Problem error={add.error} />
        <div className="chat-actions">
          <button type="submit" className="signet-button" disabled={add.isPending}>
            {t.chat.add}
          </button>
          <button type="button" className="signet-button" onClick={() => setLeaving(true)}>
            {t.chat.leave}
          </button>
        </div>
      </form>
      {isLeaving && (
        <Confirm
          title={t.chat.leaveTitle}
          about={t.chat.leaveAbout(info.memberUserIds.length - 1)}
          action={t.chat.leave}
          error={leave.error}
          isPending={leave.isPending}
          onConfirm={() => leave.run()}
          onClose={() => setLeaving(false)}
        />
      )}
    </section>
  )
}
