import type { Signet } from "@signet/client"

/** Tells the client what the browser tells the page. @returns Ends it. */
export function followPage(signet: Pick<Signet, "wake" | "suspend">): () => void {
  const listeners: [string, () => void][] = [
    // Frozen for the back-forward cache, a page hears nothing; what it missed is on the shelf.
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
