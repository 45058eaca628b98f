import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Membership_Status, Provider } from "@signet/proto/auth/v1/records"
import type { FoundUser } from "@signet/proto/auth/v1/users"
import { enumName, Failed, Loading, Status, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAsk } from "../ask.ts"
import { Choice, Field, Id, Page } from "../page.tsx"
import { Link, navigate, useRoute } from "../router.tsx"
import { t } from "../text/screens.ts"

/** Finds people by verified address, by the subject at a provider, or by id. The match is exact. */
export function People(): ReactNode {
  const { query } = useRoute()
  const find = query.get("find") ?? ""
  const [text, setText] = useState(find)
  const [by, setBy] = useState(query.get("by") ?? "any")
  return (
    <Page title={t.people.title} about={t.people.about}>
      <form
        className="bar"
        onSubmit={(event) => {
          event.preventDefault()
          const asked = text.trim()
          if (asked.startsWith("prn_")) navigate(`/people/${encodeURIComponent(asked)}`)
          else navigate(`/people?find=${encodeURIComponent(asked)}&by=${by}`)
        }}
      >
        <Field label={t.people.find} value={text} onChange={setText} isRequired />
        <Choice
          label={t.people.by}
          value={by}
          onChange={setBy}
          of={[
            ["any", t.people.any],
            ["email", t.people.email],
            ...[...providers.keys()].map((name) => [name, t.people.subjectAt(name)] as const),
          ]}
        />
        <button type="submit" className="signet-button signet-primary">
          {t.people.search}
        </button>
      </form>
      {find !== "" && <Found find={find} by={query.get("by") ?? "any"} />}
    </Page>
  )
}

function Found({ find, by }: { find: string; by: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { data, error, isPending, refetch } = useAsk(["people", find, by], async (signal) => {
    const byEmail = async () =>
      (await admin.findUsers({ by: { case: "email", value: find } as const }, { signal })).users
    const bySubject = async (provider: Provider) =>
      (await admin.findUsers({ by: { case: "subject", value: { provider, subject: find } } as const }, { signal }))
        .users
    if (by === "email") return byEmail()
    const provider = providers.get(by)
    if (provider !== undefined) return bySubject(provider)
    const found = looksLikeEmail(find) ? await byEmail() : []
    if (found.length > 0) return found
    // A text without "@" is a subject, and a subject can be an address.
    const all = await Promise.all([...providers.values()].map(bySubject))
    return [...new Map(all.flat().map((user) => [user.principal?.id, user])).values()]
  })
  if (isPending) return <Loading />
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (data.length === 0) return <p className="empty">{t.people.none}</p>
  return (
    <ul className="cards" aria-label={t.people.title}>
      {data.map((user) => (
        <li key={user.principal?.id} className="card">
          <PersonCard user={user} />
        </li>
      ))}
    </ul>
  )
}

const providers = new Map([
  ["IDP_A", Provider.IDP_A],
  ["IDP_B", Provider.IDP_B],
  ["IDP_C", Provider.IDP_C],
])

/** As the service reads addresses: one "@" between two parts without spaces. */
const looksLikeEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text)

function PersonCard({ user: { principal, identity, memberships } }: { user: FoundUser }): ReactNode {
  if (principal === undefined) return null
  const profile = memberships.find((one) => one.profile?.name)?.profile
  return (
    <>
      <h2>
        <Link to={`/people/${principal.id}`}>{profile?.name || identity?.primaryEmail || principal.id}</Link>
      </h2>
      <p className="signet-muted">{identity?.primaryEmail || profile?.email}</p>
      <Id of={principal.id} />
      <p>
        {memberships.map(({ id, tenantId, contextId, status }) => (
          <span key={id} className="line">
            {contextId || tenantId ? t.people.memberOf(contextId || tenantId) : t.people.memberOfApp}{" "}
            <Status name={enumName(Membership_Status, status)} />
          </span>
        ))}
      </p>
    </>
  )
}
