package dev.signet.client.android;

import dev.signet.client.Member;
import java.io.IOException;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** The program of the JVM's tests on Robolectric's Android. RunTests starts it. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 33, manifest = Config.NONE)
public final class MemberOnAndroid {
  @Test
  public void answersUntilItsInputEnds() throws IOException {
    Member.main(new String[0]);
  }
}
