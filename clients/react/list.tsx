import { Fragment, type ReactNode } from "react"
import { Failed, Loading } from "./parts.tsx"
import { useText } from "./provider.tsx"

/** The state of a list: of a read, of pages, or of another library's query. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly error: unknown
  readonly isPending: boolean
  readonly hasMore: boolean
  /** Set when the list no longer has its first pages: goes back to them. */
  readonly restart?: (() => void) | undefined
  more(): void
  reload(): void
}

export interface Column<Item> {
  /** The head of the column; empty for a column of buttons. */
  readonly head: string
  readonly cell: (item: Item) => ReactNode
}

export interface ListProps<Item> {
  readonly list: Listed<Item>
  readonly columns: readonly Column<Item>[]
  readonly keyOf: (item: Item) => string
  /** Shown for an empty list. */
  readonly none: string
  /** Names the table for screen readers. */
  readonly label: string
}

/** A table of a paged list, with its loading, empty and failed states. The first column heads its row. */
export function List<Item>({ list, columns, keyOf, none, label }: ListProps<Item>): ReactNode {
  const { more, restart } = useText()
  const isEmpty = list.items.length === 0
  return (
    <>
      <Failed error={list.error} retry={list.reload} />
      {list.restart && (
        <button type="button" className="signet-button" onClick={list.restart}>
          {restart}
        </button>
      )}
      {isEmpty && list.isPending && <Loading />}
      {isEmpty && !list.isPending && list.error === undefined && <p className="signet-empty">{none}</p>}
      {!isEmpty && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard.
        <section className="signet-table" aria-label={label} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {columns.map(({ head }) =>
                  head === "" ? (
                    <td key={head} />
                  ) : (
                    <th key={head} scope="col">
                      {head}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {list.items.map((item) => (
                <tr key={keyOf(item)}>
                  {columns.map(({ head, cell }, index) => (
                    <Fragment key={head}>
                      {index === 0 ? (
                        <th scope="row">{cell(item)}</th>
                      ) : (
                        <td className={head === "" ? "signet-row-actions" : undefined}>{cell(item)}</td>
                      )}
                    </Fragment>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {list.hasMore && (
        <button type="button" className="signet-button" disabled={list.isPending} onClick={list.more}>
          {more}
        </button>
      )}
    </>
  )
}
