package dev.signet.client.android;

import dev.signet.client.ScenarioDevice;
import java.io.IOException;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** The device of the shared scenario on Robolectric's Android, under a fake Keystore. RunTests starts it. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 33, manifest = Config.NONE)
public final class ScenarioOnAndroid {
  @Test
  public void runsTheStepsUntilItsInputEnds() throws IOException {
    var words = System.getProperty("dev.signet.client.test.scenario").split("\n");
    ScenarioDevice.run(words, new FakePhone(words[1]));
  }
}
