import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;

/** Reads a schema text as JSON a line; answers its `toString()` as JSON, or null if the text is no schema. */
public class SchemaText {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        ObjectMapper mapper = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String text;
            try {
                text = new Schema.Parser().parse(mapper.readValue(line, String.class)).toString();
            } catch (RuntimeException | StackOverflowError fault) {
                text = null;
            }
            out.println(mapper.writeValueAsString(text));
        }
        out.flush();
    }
}
