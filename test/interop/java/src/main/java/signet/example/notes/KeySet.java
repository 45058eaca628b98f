package signet.example.notes;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.RemoteKeySourceException;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyType;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.source.JWKSetCacheRefreshEvaluator;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.jwk.source.RateLimitReachedException;
import com.nimbusds.jose.jwk.source.URLBasedJWKSetSource;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jose.util.DefaultResourceRetriever;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.regex.Pattern;

/** The issuer's public keys: fetched seldom, kept long, bounded in size and time. */
final class KeySet {
  private static final int MAX_KEYS = 16;
  private static final int MAX_BYTES = 64 * 1024;
  private static final int TIMEOUT_MS = 5_000;
  private static final long MAX_AGE_MS = 5 * 60 * 1_000;
  private static final long MAX_STALE_MS = 24 * 60 * 60 * 1_000;
  private static final long COOLDOWN_MS = 30 * 1_000;
  private static final Pattern KID = Pattern.compile("[A-Za-z0-9_-]{1,128}");

  private final Bounded fetched;
  private final JWKSource<SecurityContext> source;

  KeySet(URL url) {
    fetched = new Bounded(url);
    source =
        JWKSourceBuilder.create(fetched)
            .cache(MAX_AGE_MS, TIMEOUT_MS)
            // What forged kids can cause is two fetches in this time.
            .rateLimited(COOLDOWN_MS)
            .outageTolerant(MAX_STALE_MS)
            .build();
  }

  /** @throws Refused KEY_UNKNOWN, or UNAVAILABLE when the keys cannot be had. */
  ECKey find(String kid) throws Refused {
    if (!KID.matcher(kid).matches()) throw new Refused("KEY_UNKNOWN");
    var wanted =
        new JWKMatcher.Builder()
            .keyType(KeyType.EC)
            .curve(Curve.P_256)
            .keyUse(KeyUse.SIGNATURE)
            .algorithms(JWSAlgorithm.ES256, null)
            .keyID(kid)
            .build();
    try {
      for (JWK key : source.get(new JWKSelector(wanted), null)) return key.toECKey();
      throw new Refused("KEY_UNKNOWN");
    } catch (RateLimitReachedException error) {
      throw new Refused(fetched.hasKeys ? "KEY_UNKNOWN" : "UNAVAILABLE");
    } catch (KeySourceException error) {
      throw new Refused("UNAVAILABLE");
    }
  }

  private static final class Bounded extends URLBasedJWKSetSource<SecurityContext> {
    volatile boolean hasKeys;

    Bounded(URL url) {
      super(url, new NoRedirects());
    }

    @Override
    public JWKSet getJWKSet(JWKSetCacheRefreshEvaluator refresh, long now, SecurityContext context)
        throws KeySourceException {
      var set = super.getJWKSet(refresh, now, context);
      if (set.size() > MAX_KEYS) throw new RemoteKeySourceException("too many keys", null);
      hasKeys = true;
      return set;
    }
  }

  private static final class NoRedirects extends DefaultResourceRetriever {
    NoRedirects() {
      super(TIMEOUT_MS, TIMEOUT_MS, MAX_BYTES);
    }

    @Override
    protected HttpURLConnection openHTTPConnection(URL url) throws IOException {
      var connection = super.openHTTPConnection(url);
      connection.setInstanceFollowRedirects(false);
      return connection;
    }
  }
}
