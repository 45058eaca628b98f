// Delegation as a graph: subject, acting service, called services.
import { Confirm, Failed, type Listed, Loading, useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { t } from "../../text/screens.ts"

export interface Edge {
  readonly id: string
  readonly subject: ReactNode
  readonly actor: string
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  readonly until: string
  readonly isStopped: boolean
}

export interface GraphProps<Item> {
  readonly none: string
  readonly list: Listed<Item>
  readonly edgeOf: (item: Item) => Edge
  /** Says what ends with the edge, and counts it. */
  readonly about: (edge: Edge) => ReactNode
  readonly stop: (edge: Edge) => Promise<void>
  /** Shown below an edge. */
  readonly below?: (item: Item) => ReactNode
}

/** Each row is a path of the graph, with a button that stops it. */
export function Graph<Item>({ none, list, edgeOf, about, stop, below }: GraphProps<Item>): ReactNode {
  const [stopping, setStopping] = useState<Edge>()
  const act = useAction(async (edge: Edge) => {
    await stop(edge)
    setStopping(undefined)
  })
  return (
    <>
      <Failed error={list.error} retry={list.reload} />
      {list.items.length === 0 && list.isPending && <Loading />}
      {list.items.length === 0 && !list.isPending && list.error === undefined && <p className="empty">{none}</p>}
      <ul className="graph">
        {list.items.map((item) => {
          const edge = edgeOf(item)
          return (
            <li key={edge.id} className={edge.isStopped ? "graph-stopped" : undefined}>
              <div className="graph-path">
                <span className="graph-node">{edge.subject}</span>
                <span className="graph-arrow" aria-hidden="true" />
                <span className="visually-hidden">{t.delegation.letsAct}</span>
                <span className="graph-node graph-actor">{edge.actor}</span>
                <span className="graph-arrow" aria-hidden="true" />
                <span className="visually-hidden">{t.delegation.at}</span>
                <span className="graph-node">{edge.audiences.join(", ")}</span>
              </div>
              <p className="graph-facts">
                {edge.scopes.join(", ")} · {edge.until}
              </p>
              {!edge.isStopped && (
                <button type="button" className="signet-button signet-danger" onClick={() => setStopping(edge)}>
                  {t.delegation.stop}
                </button>
              )}
              {below?.(item)}
            </li>
          )
        })}
      </ul>
      {list.hasMore && (
        <button type="button" className="signet-button" disabled={list.isPending} onClick={list.more}>
          {t.more}
        </button>
      )}
      {stopping && (
        <Confirm
          title={t.delegation.stopTitle}
          about={about(stopping)}
          action={t.delegation.stop}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run(stopping)}
          onClose={() => {
            act.clear()
            setStopping(undefined)
          }}
        />
      )}
    </>
  )
}
