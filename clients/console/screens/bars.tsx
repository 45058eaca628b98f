// Pictures as SVG, each with its numbers as a table: for screen readers, and to copy.
import { type ReactNode, useId } from "react"
import type { Counted, Step } from "../counts.ts"
import { t } from "../text/activity.ts"

const [width, height] = [600, 120]
const number = new Intl.NumberFormat()

/** Stacked bars over time. The first series is at the bottom. */
export function TimeBars(props: { label: string; series: readonly string[]; steps: readonly Step[] }): ReactNode {
  const { label, series, steps } = props
  const most = Math.max(1, ...steps.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)))
  const step = width / Math.max(1, steps.length)
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "short" })
  return (
    <figure className="picture">
      <p className="axis" aria-hidden="true">
        <span>{t.most(number.format(most))}</span>
      </p>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
        {steps.map(({ startMs, counts }, at) =>
          counts.map((count, index) => {
            const below = counts.slice(0, index).reduce((sum, one) => sum + one, 0)
            const tall = (count / most) * height
            const y = height - (below / most) * height - tall
            const box = { x: at * step + 1, y, width: Math.max(1, step - 2), height: tall }
            return <rect key={`${startMs} ${series[index]}`} className={`bar-${index}`} {...box} />
          }),
        )}
      </svg>
      <p className="axis" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75].map((part) => {
          const at = steps[Math.floor(steps.length * part)]
          return <span key={part}>{at && format.format(at.startMs)}</span>
        })}
        <span>{t.now}</span>
      </p>
      <figcaption>
        {series.map((name, index) => (
          <span key={name} className={`legend legend-${index}`}>
            {name}: {number.format(steps.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0))}
          </span>
        ))}
      </figcaption>
      <AsTable
        head={[t.from, ...series]}
        rows={steps
          .filter(({ counts }) => counts.some((count) => count > 0))
          .map(({ startMs, counts }) => [format.format(startMs), ...counts.map(number.format)])}
      />
    </figure>
  )
}

/** A bar for each name, as long as its count. */
export function NameBars({ of, head }: { of: readonly Counted[]; head: string }): ReactNode {
  const id = useId()
  const most = Math.max(1, ...of.map(({ count }) => count))
  if (of.length === 0) return <p className="empty">{t.none}</p>
  return (
    <table className="name-bars" aria-labelledby={id}>
      <caption id={id} className="visually-hidden">
        {head}
      </caption>
      <thead className="visually-hidden">
        <tr>
          <th scope="col">{head}</th>
          <th scope="col">{t.count}</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ name, count }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect className="bar-0" width={(count / most) * 100} height="10" />
              </svg>
              {number.format(count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function AsTable({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }): ReactNode {
  if (rows.length === 0) return null
  return (
    <details>
      <summary>{t.asTable}</summary>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...rest]) => (
            <tr key={first}>
              <th scope="row">{first}</th>
              {rest.map((text, index) => (
                <td key={head[index + 1]}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
