import type { ReactNode } from "react"
export function Why(): ReactNode {
  return null
}
