import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Membership_Status as Is, type Membership } from "@signet/proto/auth/v1/records"
import { Dialog, SignIn } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { useMethod } from "../ask.ts"
import { Card, Id } from "../page.tsx"
import { base } from "../router.tsx"
import { t } from "../text/screens.ts"

/** The person's memberships elsewhere in the app: an administrator of a tenant or a context signs in there. */
export function OtherPlaces(): ReactNode {
  const { tenantId = "", contextId = "" } = useAccess()
  const [entering, setEntering] = useState<Membership>()
  const { data } = useMethod(AuthService.method.me)
  const isHere = (one: Membership) => one.tenantId === tenantId && one.contextId === contextId
  const others = (data?.memberships ?? []).filter((one) => one.status === Is.ACTIVE && !isHere(one))
  if (others.length === 0) return null
  return (
    <Card title={t.overview.places}>
      <p className="signet-muted">{t.overview.placesAbout}</p>
      <ul className="rows">
        {others.map((one) => (
          <li key={one.id}>
            <Id of={placeOf(one)} />
            <button type="button" className="signet-button" onClick={() => setEntering(one)}>
              {t.overview.enter}
            </button>
          </li>
        ))}
      </ul>
      {entering && (
        <Dialog title={t.overview.enterTitle(placeOf(entering))} onClose={() => setEntering(undefined)}>
          <SignIn
            returnTo={base}
            {...(entering.tenantId !== "" && { tenantId: entering.tenantId })}
            {...(entering.contextId !== "" && { contextId: entering.contextId })}
          />
        </Dialog>
      )}
    </Card>
  )
}

const placeOf = ({ tenantId, contextId }: Membership): string => contextId || tenantId || t.overview.wholeApp
