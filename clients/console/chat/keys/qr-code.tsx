import encodeQR from "qr"
import { type ReactNode, useMemo } from "react"

/** Draws a QR code, dark on light also in a dark theme: cameras expect it. */
export function QrCode({ text, label }: { text: string; label: string }): ReactNode {
  const { path, size } = useMemo(() => {
    const rows = encodeQR(text, "raw", { ecc: "medium", border: 4 })
    const cells = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { path: cells.join(""), size: rows.length }
  }, [text])
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect className="qr-light" width={size} height={size} />
      <path className="qr-dark" d={path} />
    </svg>
  )
}
