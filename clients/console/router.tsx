// Paths of the console: a link changes the address without loading the page again.
import { type MouseEvent, type ReactNode, useSyncExternalStore } from "react"

export const base = "/console"

const listeners = new Set<() => void>()
addEventListener("popstate", () => {
  for (const listener of listeners) listener()
})

/** @param path Below /console, with its query. */
export function navigate(path: string, options: { replace?: boolean } = {}): void {
  const change = options.replace ? history.replaceState : history.pushState
  change.call(history, null, "", base + path)
  for (const listener of listeners) listener()
}

const read = () => location.pathname.slice(base.length) + location.search

export interface Route {
  /** The decoded parts of the path below /console. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export function useRoute(): Route {
  const path = useSyncExternalStore((changed) => {
    listeners.add(changed)
    return () => listeners.delete(changed)
  }, read)
  const [before = "", query = ""] = path.split("?")
  return { parts: before.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) }
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

interface LinkProps {
  readonly to: string
  readonly className?: string
  readonly isCurrent?: boolean
  readonly children: ReactNode
}

export function Link({ to, className, isCurrent, children }: LinkProps): ReactNode {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    event.preventDefault()
    navigate(to)
    scrollTo(0, 0)
  }
  return (
    <a href={base + to} className={className} aria-current={isCurrent ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  )
}
