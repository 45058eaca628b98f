import type { ReactNode } from "react"

/** The product's mark: a seal. */
export function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="currentColor" />
      <circle cx="16" cy="16" r="9" fill="none" stroke="var(--signet-on-accent)" strokeWidth="2.5" />
      <path
        d="M11.5 16.5l3 3 6-6.5"
        fill="none"
        stroke="var(--signet-on-accent)"
        strokeWidth="2.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
