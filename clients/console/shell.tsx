// The frame of every screen: navigation, search, the signed-in person.
import { Loading, UserButton } from "@signet/react/core"
import { type ReactNode, Suspense, useEffect, useRef, useState } from "react"
import { useAccess } from "./access.tsx"
import { Mark } from "./mark.tsx"
import { refusalOf, usableParts } from "./offer.ts"
import { Page } from "./page.tsx"
import { placeOf } from "./place-of.ts"
import { Refused } from "./refused.tsx"
import { base, Link, navigate, useRoute } from "./router.tsx"
import { screenAt, screens } from "./screens.tsx"
import { t } from "./text/frame.ts"

export function Shell(): ReactNode {
  const { parts } = useRoute()
  const [isOpen, setOpen] = useState(false)
  const path = parts.join("/")
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of a small screen closes with the page.
  useEffect(() => setOpen(false), [path])
  const { name, Screen, refusal } = screenAt(parts, useAccess())
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {t.skip}
      </a>
      <header className="top">
        <button
          type="button"
          className="menu-button signet-button"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          {t.menu}
        </button>
        <Link to="" className="brand">
          <Mark />
          <span>{t.product}</span>
        </Link>
        <Search />
        <UserButton onManage={() => navigate("/account")} />
      </header>
      <nav id="menu" className={`side${isOpen ? " side-open" : ""}`} aria-label={t.menu}>
        <AppName />
        <Menu current={parts[0] ?? ""} />
      </nav>
      <main id="content" className="content">
        <Suspense fallback={<Loading />}>
          {refusal === undefined ? (
            <Screen key={path} />
          ) : (
            <Page key={path} title={name}>
              <Refused why={refusal} />
            </Page>
          )}
        </Suspense>
      </main>
    </div>
  )
}

function AppName(): ReactNode {
  const { app, appId, placeName, tenantId, contextId, level } = useAccess()
  return (
    <p className="side-app">
      <span>{placeName ?? app?.name ?? t.nav.here[level]}</span>
      <span className="signet-id">{contextId ?? tenantId ?? appId}</span>
    </p>
  )
}

function Menu({ current }: { current: string }): ReactNode {
  const access = useAccess()
  const { settings, appId } = access
  const shownScreens = screens.flatMap(({ path, name, group, needs = {} }) => {
    if (refusalOf(needs, access) === undefined) return [{ path, name, group, to: path === "" ? "" : `/${path}` }]
    // A token that may not list apps gets the parts of its own app that it may use instead.
    const isInside = path === "apps" && usableParts(access).length > 0
    return isInside ? [{ path, name: t.nav.here[access.level], group, to: `/apps/${appId}` }] : []
  })
  return (
    <>
      {[...new Set(screens.map(({ group }) => group))].map((group) => {
        const shown = shownScreens.filter((one) => one.group === group)
        return shown.length === 0 ? null : (
          <ul key={group} aria-label={group}>
            {shown.map(({ path, name, to }) => (
              <li key={path}>
                <Link to={to} isCurrent={current === path}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        )
      })}
      <ul aria-label={t.nav.more}>
        {/* A document of its own, with its own security policy. */}
        {settings.issuerRootKey !== null && (
          <li>
            <a href={`${base}/chat`}>{t.nav.chat}</a>
          </li>
        )}
        <li>
          <Link to="/components" isCurrent={current === "components"}>
            {t.nav.components}
          </Link>
        </li>
        <li>
          <a href="/docs/">{t.nav.reference}</a>
        </li>
      </ul>
    </>
  )
}

/** Finds a person, or opens the object of an id. */
function Search(): ReactNode {
  const [text, setText] = useState("")
  const field = useRef<HTMLInputElement>(null)
  return (
    <search>
      <form
        className="top-search"
        onSubmit={(event) => {
          event.preventDefault()
          const asked = text.trim()
          if (asked === "") return
          field.current?.blur()
          navigate(placeOf(asked))
        }}
      >
        <input
          ref={field}
          type="search"
          aria-label={t.search.label}
          placeholder={t.search.placeholder}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
    </search>
  )
}
