import type { Signet } from "@signet/client"

/** Forwards the browser's lifecycle events to the client. @returns Stops it. */
export function followPage(signet: Pick<Signet, "wake" | "suspend">): () => void {
  const listeners: [string, () => void][] = [
    // A page in the back-forward cache gets no messages; it reads the store when it resumes.
    ["pagehide", () => signet.suspend()],
    ["pageshow", () => signet.wake()],
    ["online", () => signet.wake()],
    ["visibilitychange", () => globalThis.document?.visibilityState === "visible" && signet.wake()],
  ]
  const target = globalThis.document === undefined ? globalThis : globalThis.window
  for (const [name, listener] of listeners) target.addEventListener(name, listener, { capture: true })
  return () => {
    for (const [name, listener] of listeners) target.removeEventListener(name, listener, { capture: true })
  }
}
