"""Catalogue: the shop's product pages, their prices, and what customers wrote about them.

Run it with `python -m pegboard.demo.servers.catalogue`.
"""

from pegboard.demo.servers.filing import adds, lists, moves, notes, reads, sets
from pegboard.demo.servers.schemas import choice, record, text, whole
from pegboard.demo.servers.serving import serve
from pegboard.demo.servers.tools import DESTROYS, READS, SENDS, SETS, WRITES, DemoServer, DemoTool, Releases

__all__ = ["RELEASES"]

PRODUCT_ID = text("Product page id, for example PRD-11.", pattern="^PRD-[0-9]+$")
REVIEW_ID = text("Review id, for example RV-32.", pattern="^RV-[0-9]+$")
SKU = text("Item number, for example TNT-201.", pattern="^[A-Z]{3}-[0-9]{3}$")
LANGUAGE = choice("Language.", "en", "nl", "pl", "pt", "de")
STATE = choice("Whether customers see it.", "draft", "published", "withdrawn")
PRICE = whole("Price in cents.", 100, 500_000)

TOOLS = (
    DemoTool(
        name="list_products", title="List product pages", effect="read", annotations=READS,
        description="List the shop's product pages by item, language or state.",
        run=lists("products", "sku", "language", "state"),
        takes=record(may={"sku": SKU, "language": LANGUAGE, "state": STATE}),
    ),
    DemoTool(
        name="get_product", title="Get a product page", effect="read", annotations=READS,
        description="Read the title, text and price that customers see.",
        run=reads("products", "product_id", "product page"),
        takes=record(needs={"product_id": PRODUCT_ID}),
    ),
    DemoTool(
        name="create_product", title="Create a product page", effect="write", annotations=WRITES,
        description="Draft a page for a new item.", run=adds("products", state="draft"),
        takes=record(needs={
            "sku": SKU, "title": text("The page's title."), "text": text("The page's text."),
            "price_cents": PRICE, "language": LANGUAGE,
        }),
    ),
    DemoTool(
        name="update_product_text", title="Update a product's text", effect="write", annotations=SETS,
        description="Rewrite what a product page says.", run=sets("products", "product_id", "product page"),
        takes=record(needs={"product_id": PRODUCT_ID, "text": text("The new text.")}),
    ),
    DemoTool(
        name="translate_product_text", title="Translate a product's text", effect="write", annotations=WRITES,
        description="Ask for a product page in another language.",
        run=notes("products", "product_id", "product page", "translations", "language"),
        takes=record(needs={"product_id": PRODUCT_ID, "language": LANGUAGE}),
    ),
    DemoTool(
        name="change_price", title="Change a price", effect="write", annotations=SETS,
        description="Set what an item costs in the shop from now on.",
        run=sets("products", "product_id", "product page"),
        takes=record(needs={"product_id": PRODUCT_ID, "price_cents": PRICE}),
    ),
    DemoTool(
        name="publish_product", title="Publish a product page", effect="write", annotations=SETS,
        description="Show a drafted or withdrawn page to customers.",
        run=moves("products", "product_id", "product page", "draft", "withdrawn", to="published"),
        takes=record(needs={"product_id": PRODUCT_ID}),
    ),
    DemoTool(
        name="withdraw_product", title="Withdraw a product page", effect="destructive", annotations=DESTROYS,
        description="Take a product off the shop; open baskets lose it.",
        run=moves("products", "product_id", "product page", "published", to="withdrawn"),
        takes=record(needs={"product_id": PRODUCT_ID}),
    ),
    DemoTool(
        name="list_reviews", title="List reviews", effect="read", annotations=READS,
        description="List what customers wrote about products, by product or number of stars.",
        run=lists("reviews", "product_id", "stars", "state"),
        takes=record(may={
            "product_id": PRODUCT_ID, "stars": whole("Stars that were given.", 1, 5),
            "state": choice("Whether it is shown.", "shown", "hidden"),
        }),
    ),
    DemoTool(
        name="answer_review", title="Answer a review", effect="write", annotations=SENDS,
        description="Write a public answer under a customer's review.",
        run=notes("reviews", "review_id", "review", "answers", "answer"),
        takes=record(needs={"review_id": REVIEW_ID, "answer": text("What everyone will read.")}),
    ),
    DemoTool(
        name="hide_review", title="Hide a review", effect="write", annotations=SETS,
        description="Hide a review that is spam or insults someone.",
        run=moves("reviews", "review_id", "review", "shown", to="hidden"),
        takes=record(needs={"review_id": REVIEW_ID, "reason": text("Why.")}),
    ),
)  # fmt: skip

RELEASES: Releases = {
    1: DemoServer(
        name="catalogue", title="Brackenfold catalogue", version="2.3.0", tools=TOOLS,
        instructions="Product pages, prices and reviews.",
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(RELEASES)
