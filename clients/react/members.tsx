import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Membership_Status as Is, type Membership } from "@signet/proto/auth/v1/records"
import { type ReactNode, useState } from "react"
import { useService } from "./calls.ts"
import { InviteMember } from "./invite-member.tsx"
import { List } from "./list.tsx"
import { MemberEnds } from "./member-ends.tsx"
import { englishMembers, type MembersText } from "./members-text.ts"
import { Confirm, enumName, Failed, Status, Time } from "./parts.tsx"
import { useText } from "./provider.tsx"
import { useAuthorized } from "./use-authorized.ts"
import { useAction } from "./use-call.ts"
import { usePages } from "./use-pages.ts"

export { englishMembers, type MembersText } from "./members-text.ts"

export interface MembersProps {
  readonly appId: string
  /** Only this tenant's members, and invitations to it. */
  readonly tenantId?: string
  readonly contextId?: string
  /** Only memberships of this principal. */
  readonly principalId?: string
  /** Shows a link at each member; without it the principal's id is text. */
  readonly linkTo?: (membership: Membership) => ReactNode
  /** A hook that returns the names of an app's tenants and contexts; the list shows only their ids without it. */
  readonly usePlaceNames?: (appId: string, ids: readonly string[]) => (id: string) => string | undefined
  /** Shows more actions at each member that the caller may change. */
  readonly actions?: (membership: Membership, reload: () => void) => ReactNode
}

/** A membership of another state has ended. */
const changeable: readonly Is[] = [Is.ACTIVE, Is.SUSPENDED]

const placeId = ({ tenantId, contextId }: Membership): string => contextId || tenantId
const useNoNames = () => () => undefined

type Asked = { readonly is: "suspend" | "remove" | "reject"; readonly of: Membership }

/** The members of an app, a tenant or a context, for its administrator: invite, approve, suspend, resume, remove. */
export function Members(props: MembersProps): ReactNode {
  const { appId, tenantId = "", contextId = "", principalId = "", linkTo, actions } = props
  const { usePlaceNames = useNoNames } = props
  const service = useService(AppAuthService)
  const { members = englishMembers } = useText()
  const canWrite = useAuthorized({ scopes: ["auth.members.write"] }) === "yes"
  const pages = usePages([appId, tenantId, contextId, principalId], async (pageToken, signal) => {
    const asked = { appId, tenantId, contextId, principalId, pageToken, pageSize: 50 }
    const { memberships, nextPageToken } = await service.listMemberships(asked, { signal })
    return { items: memberships, nextPageToken }
  })
  const placeName = usePlaceNames(appId, pages.items.map(placeId))
  const [asked, setAsked] = useState<Asked>()
  const [isInviting, setInviting] = useState(false)
  const act = useAction(
    async ({ is, of }: { readonly is: Asked["is"] | "resume" | "approve"; readonly of: Membership }) => {
      const request = { appId, membershipId: of.id }
      const calls = {
        suspend: service.suspendMembership,
        remove: service.removeMembership,
        resume: service.resumeMembership,
        approve: service.approveMembership,
        reject: service.rejectMembership,
      }
      await calls[is](request)
      setAsked(undefined)
      pages.reload()
    },
  )
  const buttons = (of: Membership): readonly { label: string; run: () => void }[] => {
    const ask = (is: Asked["is"]) => () => setAsked({ is, of })
    const remove = { label: members.remove, run: ask("remove") }
    if (!canWrite) return []
    switch (of.status) {
      case Is.ACTIVE:
        return [{ label: members.suspend, run: ask("suspend") }, remove]
      case Is.SUSPENDED:
        return [{ label: members.resume, run: () => act.run({ is: "resume", of }) }, remove]
      case Is.REQUESTED:
        return [
          { label: members.approve, run: () => act.run({ is: "approve", of }) },
          { label: members.reject, run: ask("reject") },
        ]
      case Is.INVITED:
        return [remove]
      default:
        return []
    }
  }
  return (
    <div className="signet-members">
      {canWrite && principalId === "" && (
        <div className="signet-actions signet-actions-start">
          <button type="button" className="signet-button" onClick={() => setInviting(true)}>
            {members.invite}
          </button>
        </div>
      )}
      {asked === undefined && <Failed error={act.error} />}
      <List
        list={pages}
        keyOf={({ id }) => id}
        none={members.none}
        label={members.title}
        columns={[
          {
            // The memberships of one principal differ in their place.
            head: principalId === "" ? members.name : members.place,
            cell: (one) => (
              <>
                {linkTo?.(one) ?? (principalId === "" ? nameOf(one, members.unnamed) : levelOf(one, members))}
                {principalId === "" && placeId(one) !== "" && (
                  <span className="signet-muted">{placeName(placeId(one))}</span>
                )}
                <span className="signet-id">{placeId(one) || one.principalId}</span>
              </>
            ),
          },
          { head: members.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          {
            head: members.scopes,
            cell: ({ scopes }) => (
              <span className="signet-scopes" title={scopes.join(", ")}>
                {scopes.length === 0 ? members.defaultScopes : `${members.defaultScopes} + ${scopes.length}`}
              </span>
            ),
          },
          { head: members.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: "",
            cell: (one) => (
              <>
                {canWrite && changeable.includes(one.status) && actions?.(one, pages.reload)}
                {buttons(one).map(({ label, run }) => (
                  <button key={label} type="button" className="signet-button" disabled={act.isPending} onClick={run}>
                    {label}
                  </button>
                ))}
              </>
            ),
          },
        ]}
      />
      {isInviting && <InviteMember {...{ appId, tenantId, contextId }} onClose={() => setInviting(false)} />}
      {asked && (
        <Confirm
          title={{ suspend: members.suspendTitle, remove: members.removeTitle, reject: members.rejectTitle }[asked.is]}
          about={
            asked.is === "reject" ? (
              members.rejectAbout(nameOf(asked.of, members.unnamed))
            ) : (
              <MemberEnds
                of={asked.of}
                about={members[`${asked.is}About`](nameOf(asked.of, members.unnamed))}
                isRemoval={asked.is === "remove"}
              />
            )
          }
          action={members[asked.is]}
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

const levelOf = ({ contextId, tenantId }: Membership, { inContext, inTenant, inApp }: MembersText): string =>
  contextId ? inContext : tenantId ? inTenant : inApp

const nameOf = ({ profile }: Membership, unnamed: string): string => profile?.name || profile?.email || unnamed
