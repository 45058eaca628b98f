import { Confirm, Failed, type Listed, Loading, useAction } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { Id } from "../../page.tsx"
import { Link } from "../../router.tsx"
import { t } from "../../text/delegation.ts"
import { keysOf, type Path, type PathNode, youKey } from "./paths.ts"

export interface PathListProps<Item> {
  readonly title: string
  readonly none: string
  readonly list: Listed<Item>
  readonly pathOf: (item: Item) => Path
  /** Key of a node: only its paths are shown. */
  readonly chosen: string | undefined
  /** Says what ends with the path, and counts it. */
  readonly about: (item: Item) => ReactNode
  readonly stop: (item: Item) => Promise<void>
}

/** Paths of delegation as text, each with a button that stops it. */
export function PathList<Item>(props: PathListProps<Item>): ReactNode {
  const { title, none, list, pathOf, chosen, about, stop } = props
  const [stopping, setStopping] = useState<Item>()
  const act = useAction(async (item: Item) => {
    await stop(item)
    setStopping(undefined)
  })
  const rows = list.items
    .map((item) => ({ item, path: pathOf(item) }))
    .filter(({ path }) => chosen === undefined || keysOf(path).includes(chosen))
  return (
    <>
      <h3>{title}</h3>
      <Failed error={list.error} retry={list.reload} />
      {rows.length === 0 && list.isPending && <Loading />}
      {rows.length === 0 && !list.isPending && list.error === undefined && (
        <p className="empty">{list.items.length === 0 ? none : t.noneChosen}</p>
      )}
      <ul className="graph">
        {rows.map(({ item, path }) => (
          <li key={path.id} className={path.isStopped ? "graph-stopped" : undefined}>
            <PathText path={path} />
            {!path.isStopped && (
              <button type="button" className="signet-button signet-danger" onClick={() => setStopping(item)}>
                {t.stop}
              </button>
            )}
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <button type="button" className="signet-button" disabled={list.isPending} onClick={list.more}>
          {t.more}
        </button>
      )}
      {stopping !== undefined && (
        <Confirm
          title={t.stopTitle}
          about={about(stopping)}
          action={t.stop}
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

/** "Ann lets gardener act at svc-notes", its scopes, and its end. */
function PathText({ path: { subject, actor, audiences, scopes, until } }: { path: Path }): ReactNode {
  return (
    <div>
      <p className="graph-path">
        <NodeText node={subject} /> {t.letsAct(subject.key === youKey)} <NodeText node={actor} /> {t.actsAt}{" "}
        <span className="strong">{audiences.join(", ")}</span>
      </p>
      <p className="graph-facts">
        {scopes.join(", ")} · {until}
      </p>
    </div>
  )
}

function NodeText({ node: { name, id, to } }: { node: PathNode }): ReactNode {
  return (
    <span>
      <span className="strong">{to === undefined ? name : <Link to={to}>{name}</Link>}</span>
      {id !== undefined && id !== name && (
        <>
          {" "}
          <Id of={id} />
        </>
      )}
    </span>
  )
}
