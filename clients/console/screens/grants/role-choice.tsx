import { lazy, type ReactNode, Suspense } from "react"
import { t } from "../../text/screens.ts"
import type { RoleChoiceProps } from "./role-combobox.tsx"

/** The library of the combobox is loaded with the first choice of a role. */
const RoleCombobox = lazy(async () => ({ default: (await import("./role-combobox.tsx")).RoleCombobox }))

/** A choice among the roles that the service finds by the beginning of their key. */
export function RoleChoice(props: RoleChoiceProps): ReactNode {
  return (
    <Suspense
      fallback={
        <label className="signet-field">
          {t.grant.role}
          <input disabled placeholder={props.none} />
        </label>
      }
    >
      <RoleCombobox {...props} />
    </Suspense>
  )
}
