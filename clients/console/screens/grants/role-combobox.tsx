import { Combobox } from "@base-ui/react/combobox"
import { type ReactNode, type UIEvent, useId, useRef, useState } from "react"
import { t } from "../../text/screens.ts"
import { useSettled } from "../role-search.tsx"
import { type RoleName, useRoleNames } from "./role-names.ts"

export interface RoleChoiceProps {
  readonly appId: string
  /** Id of the chosen role; empty for none. */
  readonly value: string
  /** The name of no role. */
  readonly none: string
  readonly onChange: (roleId: string) => void
}

/** Distance from the end of the list at which the next page is read, in pixels. */
const nearEnd = 120

/** A combobox of roles. The service searches and pages: the arrow keys and the wheel read on at the end of the list. */
export function RoleCombobox({ appId, value, none, onChange }: RoleChoiceProps): ReactNode {
  const id = useId()
  const field = useRef<HTMLDivElement>(null)
  const [typed, setTyped] = useState("")
  // After a choice the address changes, and the list that was open is in the cache.
  const [hasOpened, setOpened] = useState(value !== "")
  const search = useSettled(typed)
  const roles = useRoleNames(appId, hasOpened ? search : undefined, value)
  const { items, chosen } = roles
  const more = () => roles.hasMore && !roles.isPending && roles.more()
  const readOn = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: UIEvent<HTMLElement>) =>
    scrollHeight - scrollTop - clientHeight < nearEnd && more()
  return (
    <Combobox.Root<RoleName>
      items={items}
      filter={null}
      value={chosen ?? null}
      itemToStringLabel={({ key }) => key}
      isItemEqualToValue={(one, other) => one.id === other.id}
      onOpenChange={(isOpen) => isOpen && setOpened(true)}
      onValueChange={(next) => onChange(next?.id ?? "")}
      // The key of the chosen role is in the field, too, and is no search.
      onInputValueChange={(text, { reason }) => setTyped(reason === "input-change" ? text : "")}
      onItemHighlighted={(role) => role !== undefined && role.id === items.at(-1)?.id && more()}
    >
      <div className="signet-field combobox" ref={field}>
        <label htmlFor={id}>{t.grant.role}</label>
        <Combobox.InputGroup className="combobox-group">
          <Combobox.Input id={id} placeholder={none} spellCheck={false} />
          <Combobox.Clear className="combobox-clear" aria-label={t.role.clear}>
            ×
          </Combobox.Clear>
        </Combobox.InputGroup>
      </div>
      {/* Inside of the field: a modal <dialog> makes everything outside of it inert. */}
      <Combobox.Portal container={field}>
        <Combobox.Positioner className="combobox-positioner" sideOffset={4} positionMethod="fixed">
          <Combobox.Popup className="combobox-popup" aria-busy={roles.isPending} onScroll={readOn}>
            <Combobox.Status className="combobox-status">{statusOf(roles)}</Combobox.Status>
            <Combobox.List>
              {(role: RoleName) => (
                <Combobox.Item key={role.id} value={role} className="combobox-item">
                  {role.key}
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  )
}

function statusOf({ items, isPending, hasMore }: ReturnType<typeof useRoleNames>): string {
  if (items.length === 0) return isPending ? t.role.searching : t.role.noneFound
  return hasMore ? t.role.firstOfMore(items.length) : ""
}
