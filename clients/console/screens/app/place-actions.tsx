import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { Confirm, Counted, Failed, useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { changed } from "../../ask.ts"
import { t } from "../../text/screens.ts"
import type { CountEnds } from "./place-counts.ts"

interface PlaceActionsProps {
  readonly name: string
  readonly status: PlaceStatus
  /** The rights that a suspension ends, and those that archiving ends. */
  readonly ends: { readonly suspend: string; readonly archive: string }
  /** Counts what ends; shown before the person confirms. */
  readonly count: CountEnds
  readonly suspend: () => Promise<unknown>
  readonly resume: () => Promise<unknown>
  readonly archive: () => Promise<unknown>
}

/** Suspends, resumes and archives an app, a tenant or a context. */
export function PlaceActions(props: PlaceActionsProps): ReactNode {
  const { name, status, ends, count } = props
  const [asked, setAsked] = useState<"suspend" | "archive">()
  const act = useAction(async (what: "suspend" | "resume" | "archive") => {
    await props[what]()
    setAsked(undefined)
    await changed()
  })
  const button = (label: string, run: () => void) => (
    <button type="button" className="signet-button" disabled={act.isPending} onClick={run}>
      {label}
    </button>
  )
  if (status === PlaceStatus.ARCHIVED) return null
  return (
    <>
      {status === PlaceStatus.ACTIVE && button(t.place.suspend, () => setAsked("suspend"))}
      {status === PlaceStatus.SUSPENDED && button(t.place.resume, () => act.run("resume"))}
      {button(t.place.archive, () => setAsked("archive"))}
      {asked === undefined && <Failed error={act.error} />}
      {asked && (
        <Confirm
          title={t.place.ask[asked](name)}
          about={<Counted about={ends[asked]} count={(signal) => count(asked, signal)} />}
          action={t.place[asked]}
          {...(asked === "archive" && { word: t.place.archiveWord })}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run(asked)}
          onClose={() => {
            act.clear()
            setAsked(undefined)
          }}
        />
      )}
    </>
  )
}
