import { Confirm, useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { Card, type Column, List, type ListProps } from "../../page.tsx"

interface RevokeTexts {
  readonly none: string
  readonly end: string
  readonly endTitle: string
  readonly endAbout: (name: string) => string
  readonly endAll: string
  readonly endAllTitle: string
  readonly endAllAbout: (count: number, hasMore: boolean) => string
}

interface RevokeListProps<Item> {
  readonly title: string
  readonly text: RevokeTexts
  readonly list: ListProps<Item>["list"]
  readonly columns: readonly Column<Item>[]
  readonly nameOf: (item: Item) => string
  /** True for an item that can be revoked. */
  readonly isActive: (item: Item) => boolean
  readonly canWrite: boolean
  /** Revokes one item or all, and reads the list again. */
  readonly revoke: (what: Item | "all") => Promise<unknown>
  /** Shown above the list. */
  readonly children?: ReactNode
}

/** A list of what a person holds, of which an administrator revokes one or all after a count and a question. */
export function RevokeList<Item extends { readonly id: string }>(props: RevokeListProps<Item>): ReactNode {
  const { title, text, list, columns, nameOf, isActive, canWrite, children } = props
  const [ending, setEnding] = useState<Item | "all">()
  const revoke = useAction(async (what: Item | "all") => {
    await props.revoke(what)
    setEnding(undefined)
  })
  const active = list.items.filter(isActive).length
  const actions: Column<Item> = {
    head: "",
    cell: (item) =>
      canWrite &&
      isActive(item) && (
        <button type="button" className="signet-button" onClick={() => setEnding(item)}>
          {text.end}
        </button>
      ),
  }
  return (
    <Card
      title={title}
      actions={
        canWrite &&
        active > 0 && (
          <button type="button" className="signet-button signet-danger" onClick={() => setEnding("all")}>
            {text.endAll}
          </button>
        )
      }
    >
      {children}
      <List list={list} keyOf={({ id }) => id} none={text.none} label={title} columns={[...columns, actions]} />
      {ending && (
        <Confirm
          title={ending === "all" ? text.endAllTitle : text.endTitle}
          about={ending === "all" ? text.endAllAbout(active, list.hasMore) : text.endAbout(nameOf(ending))}
          action={ending === "all" ? text.endAll : text.end}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(ending)}
          onClose={() => {
            revoke.clear()
            setEnding(undefined)
          }}
        />
      )}
    </Card>
  )
}
